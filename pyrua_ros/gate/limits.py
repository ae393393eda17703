"""Whether one trajectory respects the robot's limits everywhere, also between its points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.gate.config import Limits
from pyrua_ros.gate.polynomials import derivative, evaluate, first_above, segments
from pyrua_ros.robot_model.limits import velocity_bounds
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.trajectory import Trajectory

FloatArray = NDArray[np.float64]

#: Moments of one trajectory at which position-dependent limits are looked up.
_SLOWDOWN_SAMPLES = 800


class Refused(Exception):
    """The gate does not pass a command on; the message is the reason that reaches the cell."""


class LimitChecker:
    """Checks trajectories of one robot.

    Parameters
    ----------
    eef_position : joint positions ``[joints]`` to the end effector's position in the base frame, ``[3]`` m.
    """

    def __init__(
        self, profile: RobotProfile, config: Limits, eef_position: Callable[[FloatArray], FloatArray]
    ) -> None:
        self._profile = profile
        self._config = config
        self._eef_position = eef_position
        self._lower = np.array(profile.workspace.lower)
        self._upper = np.array(profile.workspace.upper)

    def check(self, trajectory: Trajectory) -> Trajectory:
        """Return the trajectory with its joints in the profile's order; raises Refused with the first reason."""
        trajectory = self.read(trajectory)
        self.check_motion(trajectory)
        return trajectory

    def read(self, trajectory: Trajectory) -> Trajectory:
        """Check names, values, times and the end; returns it with its joints in the profile's order."""
        trajectory = self._in_order(trajectory)
        self._check_shape(trajectory)
        return trajectory

    def check_motion(self, trajectory: Trajectory) -> None:
        """Check position, velocity, acceleration, jerk and workspace all along what `read` returned."""
        self._check_derivatives(trajectory)
        self._check_workspace(trajectory)

    def _in_order(self, trajectory: Trajectory) -> Trajectory:
        wanted, got = self._profile.arm.joints, trajectory.names
        missing = [name for name in wanted if name not in got]
        unknown = [name for name in got if name not in wanted]
        if missing:
            raise Refused(f"joint {', '.join(missing)} is missing from the trajectory")
        if unknown:
            raise Refused(f"joint {', '.join(unknown)} is not one of {', '.join(wanted)}")
        if len(got) != len(wanted):
            raise Refused(f"a joint is named twice: {', '.join(got)}")
        if got == wanted:
            return trajectory
        order = [got.index(name) for name in wanted]
        return Trajectory(
            wanted,
            trajectory.times,
            trajectory.positions[:, order],
            trajectory.velocities[:, order],
            trajectory.accelerations[:, order],
        )

    def _check_shape(self, trajectory: Trajectory) -> None:
        config, times = self._config, trajectory.times
        if len(times) > config.max_points:
            raise Refused(f"the trajectory has {len(times)} points, more than {config.max_points}")
        for field in ("positions", "velocities", "accelerations"):
            values = getattr(trajectory, field)
            if not np.isfinite(values).all():
                point, joint = np.argwhere(~np.isfinite(values))[0]
                raise Refused(
                    f"{field} of {trajectory.names[joint]} at point {point} is {values[point, joint]}"
                )
        if not np.isfinite(times).all():
            raise Refused(f"the time of point {np.flatnonzero(~np.isfinite(times))[0]} is not finite")
        if abs(times[0]) > 1e-9:
            raise Refused(f"the first point is at {times[0]:.4g} s; it must be at 0 s, where the arm is now")
        if times[-1] > config.max_duration_s:
            raise Refused(f"the trajectory takes {times[-1]:.4g} s, more than {config.max_duration_s:.4g} s")
        short = np.flatnonzero(np.diff(times) < config.min_step_s - 1e-9)
        if len(short):
            i = short[0]
            raise Refused(
                f"points {i} and {i + 1} are at {times[i]:.6g} s and {times[i + 1]:.6g} s; "
                f"times must rise by at least {config.min_step_s:.4g} s"
            )
        self._check_end(trajectory)

    def _check_end(self, trajectory: Trajectory) -> None:
        for field, limit, unit in (
            ("velocities", self._config.rest_velocity, "rad/s"),
            ("accelerations", self._config.acceleration_step, "rad/s²"),
        ):
            last = np.abs(getattr(trajectory, field)[-1])
            j = int(last.argmax())
            if last[j] > limit:
                raise Refused(
                    f"the trajectory does not end at rest: {trajectory.names[j]} still has "
                    f"{last[j]:.4g} {unit} (limit {limit:.4g})"
                )

    def _check_derivatives(self, trajectory: Trajectory) -> None:
        profile, config = self._profile, self._config
        position = segments(trajectory)
        if not len(position):
            # One point: nothing moves, but it must be a legal place with a legal state.
            position = trajectory.positions[:, None, :]
            velocity, acceleration = trajectory.velocities[:, None, :], trajectory.accelerations[:, None, :]
            jerk = np.zeros_like(velocity)
        else:
            h = np.diff(trajectory.times)
            velocity = derivative(position, h)
            acceleration = derivative(velocity, h)
            jerk = derivative(acceleration, h)
        slack = config.position_slack
        self._check_range(
            trajectory, "position", "rad", position, profile.position_lower, profile.position_upper, slack
        )
        for quantity, unit, control, limit, share in (
            ("velocity", "rad/s", velocity, profile.max_velocity, config.velocity_slack),
            ("acceleration", "rad/s²", acceleration, profile.max_acceleration, config.acceleration_slack),
            ("jerk", "rad/s³", jerk, profile.max_jerk, config.jerk_slack),
        ):
            self._check_range(trajectory, quantity, unit, control, -limit, limit, share * limit)
        if profile.arm.limits.slowdown is not None and len(trajectory.times) > 1:
            self._check_slowdown(trajectory, position, velocity)

    def _check_range(
        self,
        trajectory: Trajectory,
        quantity: str,
        unit: str,
        control: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        slack: float | FloatArray,
    ) -> None:
        pieces, degree_1, joints = control.shape
        rows = control.transpose(0, 2, 1).reshape(pieces * joints, degree_1)
        for sign, limit in ((1.0, upper), (-1.0, lower)):
            found = first_above(sign * rows, np.tile(sign * limit + slack, pieces))
            if found is None:
                continue
            row, u, value = found
            piece, j = divmod(row, joints)
            t = trajectory.times[piece]
            if piece + 1 < len(trajectory.times):
                t += u * (trajectory.times[piece + 1] - t)
            raise Refused(
                f"{quantity} of {trajectory.names[j]} is {sign * value:.5g} {unit} at {t:.3f} s, "
                f"beyond its limit {limit[j]:.5g} {unit}"
            )

    def _check_slowdown(self, trajectory: Trajectory, position: FloatArray, velocity: FloatArray) -> None:
        """Hold the velocity against limits that depend on the position, at moments close together."""
        u = np.linspace(0.0, 1.0, max(3, min(200, 1 + _SLOWDOWN_SAMPLES // len(position))))
        q, v = evaluate(position, u), evaluate(velocity, u)
        lower, upper = velocity_bounds(self._profile.arm.limits, q)
        beyond = np.maximum(lower - v, v - upper) - self._config.velocity_slack * self._profile.max_velocity
        piece, i, j = np.unravel_index(int(beyond.argmax()), beyond.shape)
        if beyond[piece, i, j] <= 0:
            return
        t = trajectory.times[piece] + u[i] * (trajectory.times[piece + 1] - trajectory.times[piece])
        limit = (upper if v[piece, i, j] > upper[piece, i, j] else lower)[piece, i, j]
        raise Refused(
            f"velocity of {trajectory.names[j]} is {v[piece, i, j]:.5g} rad/s at {t:.3f} s, beyond its limit "
            f"{limit:.5g} rad/s at {q[piece, i, j]:.5g} rad, near its end"
        )

    def _check_workspace(self, trajectory: Trajectory) -> None:
        """Inside the box; an arm that starts outside may only come back in."""
        slack = self._config.workspace_slack
        allowed = None
        for q in self._waypoints(trajectory):
            position = self._eef_position(q)
            outside = np.maximum(self._lower - position, position - self._upper)
            axis = int(outside.argmax())
            if allowed is not None and outside[axis] > allowed:
                limit = self._upper[axis] if position[axis] > self._upper[axis] else self._lower[axis]
                raise Refused(
                    f"the end effector would leave the workspace: {'xyz'[axis]} = {position[axis]:.3f} m, "
                    f"limit {limit:.3f} m"
                )
            allowed = max(slack, float(outside[axis]) + slack)

    def _waypoints(self, trajectory: Trajectory) -> FloatArray:
        """Postures along the path, close enough together to see the end effector leave the box."""
        step = self._config.workspace_step
        if len(trajectory.times) == 1:
            return trajectory.positions
        reach = np.abs(np.diff(trajectory.positions, axis=0)).max()
        per_segment = int(np.clip(np.ceil(2 * reach / step), 2, 64))
        u = np.arange(per_segment) / per_segment
        path = evaluate(segments(trajectory), u).reshape(-1, len(trajectory.names))
        path = np.vstack([path, trajectory.end])
        length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(path, axis=0)).max(axis=1))])
        step = max(step, length[-1] / (self._config.workspace_checks - 1))
        chosen = np.flatnonzero(np.diff(np.floor(length / step), prepend=-1.0) > 0)
        chosen = np.union1d(chosen, [0, len(path) - 1])
        waypoints: FloatArray = path[chosen]
        return waypoints
