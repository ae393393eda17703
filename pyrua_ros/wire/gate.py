"""What the gate says: events per goal on `gate/events`, its mode on `gate/state`."""

from __future__ import annotations

from typing import Literal

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from pydantic import BaseModel, ConfigDict

Mode = Literal["agent", "operator", "stopped"]

#: No news from the gate for this long (steady clock) means: state unknown, do not move.
GATE_SILENCE_S = 1.0


class GateEvent(BaseModel):
    """One step in a goal's life: [waiting,] accepted, then one that ends it.

    Terminal: refused, preempted, held, done. A stream of trajectories under one goal ID is one goal; there,
    `refused` concerns one trajectory, and the one before it goes on to its end.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    goal: str
    event: Literal["waiting", "accepted", "refused", "preempted", "held", "done"]
    reason: str = ""
    source: Literal["agent", "operator"] = "agent"
    device: Literal["arm", "gripper"] = "arm"

    @property
    def terminal(self) -> bool:
        """Whether nothing more follows for this goal."""
        return self.event not in ("waiting", "accepted")


class Approval(BaseModel):
    """A person's answer on `agent/approve`, as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    approve: bool
    comment: str = ""


class GateState(BaseModel):
    """The gate's mode, published latched and at 2 Hz."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Mode
    why: str = ""
    who: str = ""
    moving: bool = False
    waiting: str = ""  # goal that waits for a person's approval
    boot_id: str = ""
    stamp: float = 0.0  # s, ROS time of publication

    def to_message(self) -> DiagnosticStatus:
        """As the standard message: `message` is the mode, the rest are key-value pairs."""
        level = {
            "agent": DiagnosticStatus.OK,
            "operator": DiagnosticStatus.WARN,
            "stopped": DiagnosticStatus.ERROR,
        }
        values = {
            "why": self.why,
            "who": self.who,
            "moving": str(self.moving).lower(),
            "waiting": self.waiting,
            "boot_id": self.boot_id,
            "stamp": repr(self.stamp),
        }
        return DiagnosticStatus(
            level=level[self.mode],
            name="gate",
            message=self.mode,
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )

    @classmethod
    def from_message(cls, message: DiagnosticStatus) -> GateState:
        """Read what `to_message` wrote; raises pydantic's ValidationError on anything else."""
        return cls.model_validate({"mode": message.message, **{kv.key: kv.value for kv in message.values}})
