"""What follows commands: the arm as ros2_control's JointTrajectoryController does, the gripper as the Franka Hand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.robot_model.brake import brake
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.trajectory import JointSample, Trajectory

FloatArray = NDArray[np.float64]

#: How far from now the start time of a trajectory may be, s.
MAX_OFF_S = 0.5


class CommandError(ValueError):
    """A command was refused; the message says why."""


class ArmController:
    """Follows the newest trajectory and rests at its end; times are simulation seconds.

    Parameters
    ----------
    profile : names the joints, their order and their limits.
    start : ``[joints]`` rad, held until the first command.
    """

    def __init__(self, profile: RobotProfile, start: FloatArray) -> None:
        self._profile = profile
        self._rest = _at_rest(start)
        self._trajectory: Trajectory | None = None
        self._started = 0.0
        self._next: tuple[Trajectory, float] | None = None

    def command(self, trajectory: Trajectory, now: float, start: float | None = None) -> None:
        """Replace whatever is under way by `trajectory`, which starts `now`; raises CommandError.

        Joints are matched by name. When the first point lies in the future, the motion up to it starts
        from the commanded state, as in ros2_control.

        Parameters
        ----------
        start : the trajectory's own start time. Until then the old one goes on; what has passed is left out,
            unless that is more than `MAX_OFF_S`: then the trajectory starts now.
        """
        trajectory = self._in_our_order(trajectory)
        for field in ("times", "positions", "velocities", "accelerations"):
            if not np.all(np.isfinite(getattr(trajectory, field))):
                raise CommandError(f"{field} are not finite")
        if trajectory.times[0] < 0 or np.any(np.diff(trajectory.times) <= 0):
            raise CommandError("times do not increase from zero on")
        desired = self.desired(now)
        if trajectory.times[0] > 0:
            trajectory = _from_state(desired, trajectory)
        if start is None or now - start > MAX_OFF_S:
            start = now
        if start - now > MAX_OFF_S:
            raise CommandError(f"it starts in {start - now:.3g} s, more than {MAX_OFF_S:g} s ahead")
        if start > now:
            self._next = (trajectory, start)
        else:
            self._next, self._trajectory, self._started = None, trajectory, start

    def hold(self, now: float) -> None:
        """Brake within the limits from the commanded state and rest there."""
        desired = self.desired(now)
        self._next = None
        if not np.any(desired.velocity) and not np.any(desired.acceleration):
            self._trajectory, self._rest = None, desired
            return

        self._trajectory = brake(self._profile.arm.limits, self._profile.arm.joints, desired)
        self._started = now

    def desired(self, now: float) -> JointSample:
        """Commanded state, each ``[joints]``."""
        if self._next is not None and now >= self._next[1]:
            (self._trajectory, self._started), self._next = self._next, None
        if self._trajectory is None:
            return self._rest
        elapsed = now - self._started
        if elapsed >= self._trajectory.duration:
            self._rest, self._trajectory = _at_rest(self._trajectory.end), None
            return self._rest
        return self._trajectory.sample(elapsed)

    @property
    def moving(self) -> bool:
        """Whether a trajectory is under way."""
        return self._trajectory is not None or self._next is not None

    def _in_our_order(self, trajectory: Trajectory) -> Trajectory:
        ours = self._profile.arm.joints
        if sorted(trajectory.names) != sorted(ours):
            raise CommandError(
                f"joints are {', '.join(trajectory.names) or 'none'}; expected each of {', '.join(ours)} once"
            )
        order = [trajectory.names.index(name) for name in ours]
        return Trajectory(
            ours,
            trajectory.times,
            trajectory.positions[:, order],
            trajectory.velocities[:, order],
            trajectory.accelerations[:, order],
        )


class GripperController:
    """Opens to a width, or closes with a force until something stops it.

    Drives half the opening width, the coordinate of the hand's one motor. Without a force the command is
    a move: go to the width with `MOVE_FORCE`. With a force it is a grasp: a width below the present one
    closes until the fingers meet an object or each other and presses with the force; a width above the
    present one opens to it.
    """

    MOVE_FORCE = 30.0  # N, of each finger
    _LEAD = 0.002  # m, the setpoint may run this far past what the force limit can use

    def __init__(self, profile: RobotProfile, stiffness: float) -> None:
        self._profile = profile
        self._stiffness = stiffness  # N/m
        self._target = profile.gripper.max_width / 2
        self._setpoint = self._target
        self._pending: tuple[float, float | None] | None = None
        self.force = self.MOVE_FORCE  # N, what each finger may press with

    def command(self, width: float, force: float | None) -> None:
        """Replace the command; raises CommandError."""
        limits = self._profile.gripper
        if not -1e-6 <= width <= limits.max_width + 1e-6:
            raise CommandError(f"width {width:.4g} m is not within 0 to {limits.max_width:.4g} m")
        if force is not None and not 0 < force <= limits.max_force:
            raise CommandError(f"force {force:.4g} N is not within 0 to {limits.max_force:.4g} N")
        self._pending = (float(np.clip(width, 0.0, limits.max_width)), force)

    def setpoint(self, opening: float, dt: float) -> tuple[float, float]:
        """Advance by `dt` s: (half width to drive to, m; its rate, m/s), given the measured half width."""
        if self._pending is not None:
            width, force = self._pending
            self._pending = None
            self.force = self.MOVE_FORCE if force is None else force
            closing = force is not None and width / 2 < opening + 1e-3
            self._target = 0.0 if closing else width / 2
            if closing:
                # Past zero, so that the full force is there when the fingers meet.
                self._target = -self._reach()
            self._setpoint = opening
        step = self._profile.gripper.speed / 2 * dt
        reach = self._reach()
        wanted = self._setpoint + _clip(self._target - self._setpoint, step)
        wanted = opening + _clip(wanted - opening, reach)
        rate = _clip(wanted - self._setpoint, step) / dt
        self._setpoint = wanted
        return wanted, rate

    def _reach(self) -> float:
        return 2 * self.force / self._stiffness + self._LEAD


def _clip(value: float, limit: float) -> float:
    return max(-limit, min(limit, value))


def _at_rest(position: FloatArray) -> JointSample:
    zero = np.zeros(len(position))
    return JointSample(np.array(position, dtype=float), zero, zero)


def _from_state(state: JointSample, trajectory: Trajectory) -> Trajectory:
    """`trajectory` with `state` as its point at zero."""
    return Trajectory(
        trajectory.names,
        np.concatenate([[0.0], trajectory.times]),
        np.vstack([state.position, trajectory.positions]),
        np.vstack([state.velocity, trajectory.velocities]),
        np.vstack([state.acceleration, trajectory.accelerations]),
    )
