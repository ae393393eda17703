"""How a goal that was passed on is going: done, or to be held and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.gate.config import Progress
from pyrua_ros.gate.measured import Measured
from pyrua_ros.gate.outlet import Command
from pyrua_ros.robot_model.profile import RobotProfile

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Now:
    """Both clocks at one moment, s."""

    ros: float
    steady: float


@dataclass(frozen=True)
class Verdict:
    """The end of a goal."""

    event: Literal["done", "held"]
    reason: str = ""


class ClockWatch:
    """Sees ROS time stand still."""

    def __init__(self, now: Now, standstill_s: float) -> None:
        self._moved = now
        self._standstill_s = standstill_s

    def check(self, now: Now) -> str:
        """Empty while ROS time advances, else what is wrong with it."""
        if now.ros != self._moved.ros:
            self._moved = now
        still = now.steady - self._moved.steady
        if still > self._standstill_s:
            return f"the clock stands still: ROS time has been {now.ros:.3f} s for {still:.1f} s (is /clock paused?)"
        return ""


class ArmProgress:
    """Follows one arm goal."""

    def __init__(self, command: Command, measured: Measured, now: Now, config: Progress) -> None:
        self._command = command
        self._config = config
        self._clock = ClockWatch(now, config.standstill_s)
        self._started = measured.position
        # Each: measured position, commanded position, steady time.
        self._anchored: tuple[FloatArray, FloatArray, float]
        self._same: tuple[FloatArray, FloatArray, float]
        self._anchor(measured, now)
        self._changed(measured, now)

    def continue_from(self, previous: ArmProgress | GripperProgress) -> None:
        """Go on watching what the motion before this one left under watch: streams would never stall else."""
        if isinstance(previous, ArmProgress) and not previous._command.ended(self._command.start):
            self._clock = previous._clock
            self._started = previous._started
            self._anchored = previous._anchored
            self._same = previous._same

    def check(self, measured: Measured, now: Now) -> Verdict | None:
        """Return the verdict, or None while the goal is under way."""
        command, config = self._command, self._config
        wrong = self._clock.check(now)
        if wrong:
            return Verdict("held", wrong)
        stale = now.steady - measured.steady
        if stale > config.stale_s and not command.ended(now.ros):
            return Verdict("held", f"no joint_states for {stale:.2f} s")
        error = measured.position - command.at(now.ros).position
        j = int(np.abs(error).argmax())
        off = f"{command.trajectory.names[j]} is {abs(error[j]):.3g} rad from its command"
        if command.ended(now.ros):
            return self._settled(measured, now, abs(float(error[j])), off)
        if np.abs(measured.position - self._started).max() <= config.standstill_motion:
            off = f"the joints have not moved since the start; {off}"
        frozen = self._frozen(measured, now)
        if frozen:
            return Verdict("held", f"{frozen}; {off}")
        if self._stands_still(measured, now):
            return Verdict("held", f"the joints have stood still for {config.standstill_s:.1f} s; {off}")
        if abs(error[j]) > config.max_deviation and not self._merely_late(measured, now):
            return Verdict("held", off)
        return None

    def _merely_late(self, measured: Measured, now: Now) -> bool:
        """Whether the arm is near where the command was a moment ago: servo lag, or a simulator out of breath."""
        lags = np.linspace(0.0, self._config.max_lag_s, 11)[1:]
        then = np.array([self._command.at(now.ros - lag).position for lag in lags])
        return bool(np.abs(measured.position - then).max(axis=1).min() <= self._config.max_deviation)

    def _settled(self, measured: Measured, now: Now, error: float, off: str) -> Verdict | None:
        config = self._config
        fresh = now.steady - measured.steady <= config.stale_s
        if fresh and error <= config.done_position and measured.speed <= config.done_velocity:
            return Verdict("done")
        late = now.ros - self._command.start - self._command.trajectory.duration
        if late <= config.settle_s:
            return None
        if not fresh:
            return Verdict("held", f"no joint_states for {now.steady - measured.steady:.2f} s at the end")
        if measured.speed > config.done_velocity:
            return Verdict(
                "held", f"still moving at {measured.speed:.3g} rad/s {late:.1f} s after the end; {off}"
            )
        return Verdict("held", f"stalled short of the end; {off}")

    def _anchor(self, measured: Measured, now: Now) -> None:
        self._anchored = (measured.position, self._command.at(now.ros).position, now.steady)

    def _changed(self, measured: Measured, now: Now) -> None:
        self._same = (measured.position, self._command.at(now.ros).position, now.steady)

    def _frozen(self, measured: Measured, now: Now) -> str:
        """Joint states that come and never change in the last bit, although the command moved on."""
        config = self._config
        position, command, since = self._same
        if not np.array_equal(measured.position, position):
            self._changed(measured, now)
            return ""
        same = now.steady - since
        commanded = float(np.abs(self._command.at(now.ros).position - command).max())
        if same <= config.frozen_s or commanded <= config.frozen_command:
            return ""
        return (
            f"joint_states have been the very same for {same:.2f} s while the command moved {commanded:.3g} rad: "
            "they are frozen, or the arm does not move"
        )

    def _stands_still(self, measured: Measured, now: Now) -> bool:
        """No measured motion for a while although the command moved on."""
        config = self._config
        position, command, since = self._anchored
        if np.abs(measured.position - position).max() > config.standstill_motion:
            self._anchor(measured, now)
            return False
        if now.steady - since <= config.standstill_s:
            return False
        commanded = np.abs(self._command.at(now.ros).position - command).max()
        if commanded <= config.standstill_command:
            self._anchor(measured, now)
            return False
        return True


class GripperProgress:
    """Follows one gripper goal: done once the fingers rest, wherever that is."""

    def __init__(self, profile: RobotProfile, measured: Measured, now: Now, config: Progress) -> None:
        self._config = config
        self._clock = ClockWatch(now, config.standstill_s)
        self._deadline = now.ros + profile.gripper.max_width / profile.gripper.speed + config.finger_timeout_s
        self._anchor_width = measured.width
        self._anchor_ros = now.ros

    def check(self, measured: Measured, now: Now) -> Verdict | None:
        """Return the verdict, or None while the fingers move."""
        config = self._config
        wrong = self._clock.check(now)
        if wrong:
            return Verdict("held", wrong)
        stale = now.steady - measured.steady
        if stale > config.standstill_s:
            return Verdict("held", f"no joint_states for {stale:.2f} s")
        still = now.ros - self._anchor_ros
        # `not <=` also for NaN: fingers that are no longer reported are not at rest.
        if not abs(measured.width - self._anchor_width) <= config.finger_speed * config.finger_rest_s:
            self._anchor_width, self._anchor_ros = measured.width, now.ros
        elif still >= config.finger_rest_s and stale <= config.stale_s:
            return Verdict("done")
        if now.ros > self._deadline:
            return Verdict("held", f"the fingers did not come to rest; the width is {measured.width:.4g} m")
        return None
