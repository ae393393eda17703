"""The gate's decisions, without ROS: who may move the arm, what passes, how each goal ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pyrua_ros.gate.config import GateConfig
from pyrua_ros.gate.limits import LimitChecker, Refused
from pyrua_ros.gate.measured import Measured
from pyrua_ros.gate.outlet import Outlet
from pyrua_ros.gate.progress import ArmProgress, GripperProgress, Now
from pyrua_ros.gate.start import check_start
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.trajectory import Trajectory

Source = Literal["agent", "operator"]
Device = Literal["arm", "gripper"]


@dataclass(frozen=True)
class Event:
    """One step in a goal's life."""

    goal: str
    event: Literal["accepted", "refused", "preempted", "held", "done"]
    reason: str
    source: Source
    device: Device


@dataclass(frozen=True)
class _Goal:
    id: str
    source: Source
    progress: ArmProgress | GripperProgress


class Gate:
    """Owns the modes and the goals. Everything but `stop` is called from one thread.

    Parameters
    ----------
    send_gripper : width m, force N or None, goal ID.
    emit : called with every event, in order.
    """

    def __init__(
        self,
        profile: RobotProfile,
        config: GateConfig,
        checker: LimitChecker,
        outlet: Outlet,
        clock: Callable[[], Now],
        send_gripper: Callable[[float, float | None, str], None],
        emit: Callable[[Event], None],
    ) -> None:
        self._profile = profile
        self._config = config
        self._checker = checker
        self._outlet = outlet
        self._clock = clock
        self._send_gripper = send_gripper
        self._emit = emit
        self._owner: Source = "agent"
        self._why = ""
        self._arm: _Goal | None = None
        self._gripper: _Goal | None = None
        self._measured: Measured | None = None
        self._ticked = clock().steady
        self.closing = False

    @property
    def mode(self) -> Literal["agent", "operator", "stopped"]:
        """Who may move the arm now."""
        return "stopped" if self._outlet.stopped else self._owner

    @property
    def why(self) -> str:
        """Why the mode is what it is, or what the last hold was for."""
        return self._outlet.why if self._outlet.stopped else self._why

    @property
    def moving(self) -> bool:
        """Whether a command is under way or the arm is measured to move."""
        command = self._outlet.last
        if command is not None and not command.ended(self._clock().ros):
            return True
        return self._measured is not None and self._measured.speed > self._config.progress.done_velocity

    @property
    def busy(self) -> bool:
        """Whether a goal is under way."""
        return self._arm is not None or self._gripper is not None

    def on_measured(self, measured: Measured) -> None:
        """Take the newest joint states."""
        self._measured = measured

    def on_trajectory(
        self, source: Source, goal: str, trajectory: Trajectory, robot_listens: str = ""
    ) -> None:
        """Pass an arm trajectory on, or refuse it. `robot_listens`: why nobody would hear it; empty when fine."""
        try:
            measured = self._admit(source, goal, robot_listens)
            trajectory = self._checker.check(trajectory)
            command = self._outlet.last
            ros = self._outlet.now()
            check_start(trajectory, command, measured, ros, self._config.start)
            if not self._outlet.forward(trajectory, goal):
                raise Refused(f"stopped: {self._outlet.why}")
        except Refused as refusal:
            self._emit(Event(goal, "refused", str(refusal), source, "arm"))
            return
        self._end("arm", "preempted", f"replaced by {goal}")
        self._emit(Event(goal, "accepted", "", source, "arm"))
        sent = self._outlet.last
        assert sent is not None
        self._arm = _Goal(goal, source, ArmProgress(sent, measured, self._clock(), self._config.progress))
        self._why = ""

    def on_gripper(
        self, source: Source, goal: str, width: float, force: float | None, robot_listens: str = ""
    ) -> None:
        """Pass a gripper command on, or refuse it."""
        try:
            measured = self._admit(source, goal, robot_listens)
            self._check_gripper(width, force, measured)
        except Refused as refusal:
            self._emit(Event(goal, "refused", str(refusal), source, "gripper"))
            return
        self._send_gripper(width, force, goal)
        if self._outlet.stopped:
            self._still_fingers()
            self._emit(Event(goal, "refused", f"stopped: {self._outlet.why}", source, "gripper"))
            return
        self._end("gripper", "preempted", f"replaced by {goal}")
        self._emit(Event(goal, "accepted", "", source, "gripper"))
        progress = GripperProgress(self._profile, measured, self._clock(), self._config.progress)
        self._gripper = _Goal(goal, source, progress)

    def refuse(self, source: Source, device: Device, goal: str, reason: str) -> None:
        """Refuse a command that could not be read or came too fast."""
        self._emit(Event(goal, "refused", reason, source, device))

    def stop(self, reason: str) -> None:
        """Brake at once and let nothing move until a resume; from any thread, waits for nobody."""
        self._outlet.stop(reason)
        if self._gripper is not None:
            self._still_fingers()

    def hold(self, reason: str) -> None:
        """Brake the arm and still moving fingers; end their goals. Not latched."""
        self._brake(reason)
        if self._gripper is not None:
            self._still_fingers()
            self._end("gripper", "held", reason)

    def take_over(self, who: str) -> None:
        """Give the arm to the operator; the agent's motion is braked and its goals end."""
        self.hold(f"{who} took over")
        self._owner = "operator"
        self._why = f"{who} took over"

    def hand_back(self, who: str) -> None:
        """Give the arm back to the agent; moves nothing."""
        self.hold(f"{who} handed back")
        self._owner = "agent"
        self._why = f"{who} handed back"

    def source_lost(self, source: Source) -> None:
        """Brake what `source` started: its publisher died or froze."""
        if (self._arm is not None and self._arm.source == source) or (
            self._gripper is not None and self._gripper.source == source
        ):
            self.hold(f"the {source} is gone: its publisher lost liveliness")

    def tick(self) -> None:
        """Look at every goal; call it often."""
        now = self._clock()
        if self._outlet.stopped and self.busy:
            # `stop` has braked the arm already; what is left is to say so. A gripper command that was on its
            # way out during the stop is stilled here.
            if self._gripper is not None:
                self._still_fingers()
            for device in ("arm", "gripper"):
                self._end(device, "held", f"stopped: {self._outlet.why}")
            return
        late = now.steady - self._ticked > self._config.progress.stale_s
        self._ticked = now.steady
        if self._measured is None or late:
            # This process was held up itself: what seems stale may be waiting to be read.
            return
        if self._arm is not None and (verdict := self._arm.progress.check(self._measured, now)) is not None:
            if verdict.event == "held":
                self._brake(verdict.reason)
            else:
                self._end("arm", "done", "")
        if self._gripper is not None:
            verdict = self._gripper.progress.check(self._measured, now)
            if verdict is not None:
                if verdict.event == "held":
                    self._still_fingers()
                self._end("gripper", verdict.event, verdict.reason)

    def _admit(self, source: Source, goal: str, robot_listens: str) -> Measured:
        """Return the fresh measured state when `source` may command at all; raises Refused."""
        if self._outlet.stopped:
            raise Refused(f"stopped: {self._outlet.why}; a person must resume")
        if self.closing:
            raise Refused("the gate is shutting down")
        if source != self._owner:
            raise Refused(f"the {self._owner} has the arm" + (f": {self._why}" if self._why else ""))
        if not goal:
            raise Refused("the command has no goal ID in header.frame_id")
        if robot_listens:
            raise Refused(robot_listens)
        if self._measured is None:
            raise Refused("no joint_states yet: is the robot running?")
        age = self._clock().steady - self._measured.steady
        if age > self._config.progress.stale_s:
            raise Refused(f"the newest joint_states are {age:.2f} s old")
        return self._measured

    def _check_gripper(self, width: float, force: float | None, measured: Measured) -> None:
        gripper = self._profile.gripper
        if not (math.isfinite(width) and 0.0 <= width <= gripper.max_width):
            raise Refused(f"gripper width {width:.4g} m is outside 0 to {gripper.max_width:.4g} m")
        if force is not None and not (math.isfinite(force) and 0.0 < force <= gripper.max_force):
            raise Refused(f"gripper force {force:.4g} N is outside 0 to {gripper.max_force:.4g} N")
        if math.isnan(measured.width):
            raise Refused(f"joint_states lack the fingers {', '.join(gripper.joints)}")

    def _brake(self, reason: str) -> None:
        command = self._outlet.last
        if command is not None and not command.ended(self._clock().ros):
            self._outlet.brake()
        self._end("arm", "held", reason)
        self._why = reason

    def _still_fingers(self) -> None:
        """Keep moving fingers where they are; a grasp that already holds is not touched."""
        if self._measured is not None and not math.isnan(self._measured.width):
            width = min(max(self._measured.width, 0.0), self._profile.gripper.max_width)
            self._send_gripper(width, None, "")

    def _end(self, device: Device, event: Literal["preempted", "held", "done"], reason: str) -> None:
        ending = self._arm if device == "arm" else self._gripper
        if ending is None:
            return
        if device == "arm":
            self._arm = None
        else:
            self._gripper = None
        self._emit(Event(ending.id, event, reason, ending.source, device))
