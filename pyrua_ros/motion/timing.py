"""When to be where: time along a joint path within velocity, acceleration and jerk limits."""

from __future__ import annotations

import logging
import os
from typing import Any, Protocol

import numpy as np
import ruckig
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import PPoly

from pyrua_ros.robot_model.limits import evaluate, usage, velocity_bounds
from pyrua_ros.robot_model.profile import JointLimits, RobotProfile
from pyrua_ros.robot_model.trajectory import Trajectory

FloatArray = NDArray[np.float64]

MAX_POINTS = 200

_STANDING_RAD = 1e-7  # a path shorter than this is no motion
_SHORTEST_S = 0.05  # of a motion
_SPACING_S = 0.05  # between points where nothing happens
_CLOSEST_S = 0.002  # between any two points
_SMOOTHING_S = 0.03  # half-width of the jerk filter
_GRID = 120  # of TOPP-RA along the path
_OUTSIDE_RAD = 1e-6
_SAFETY = 0.995  # share of the limits that is used, against peaks between samples and rounding on the wire

_OVERSTRETCH = 1.002  # so that what was stretched fits for certain


class CurvedPath(Protocol):
    """A path in joint space over a parameter s: `toppra.SplineInterpolator`."""

    def __call__(self, path_positions: ArrayLike, order: int = 0) -> FloatArray:
        """Value or derivative of that order at each s, ``[..., joints]``."""
        ...


class TimingError(Exception):
    """The path cannot be timed; the message says why."""


def scaled(limits: JointLimits, speed: float) -> JointLimits:
    """Limits with velocity, acceleration and jerk times `speed`."""
    factor = speed * _SAFETY
    return limits.model_copy(
        update={
            name: tuple(factor * value for value in getattr(limits, name))
            for name in ("velocity", "acceleration", "jerk")
        }
    )


def time_path(waypoints: ArrayLike, profile: RobotProfile, speed: float = 1.0) -> Trajectory:
    """Fastest trajectory we know through `waypoints`, from rest to rest, at most `MAX_POINTS` points.

    Two waypoints are a straight line in joint space, timed exactly; more are a smooth curve through all of
    them (they must be close together where the path bends).

    Parameters
    ----------
    waypoints : ``[points, joints]`` rad.
    speed : share of the limits, in (0, 1].
    """
    points = np.asarray(waypoints, dtype=float)
    limits = scaled(profile.arm.limits, speed)
    names = profile.arm.joints
    moved = np.abs(np.diff(points, axis=0)).max(axis=1) > _STANDING_RAD
    points = points[np.concatenate([[True], moved])]
    if len(points) < 2:
        return _stand(names, points[0])
    if len(points) > 2:
        return _time_curve(points, names, limits)[0]
    line = _time_line(points[0], points[1], names, limits)
    if usage(evaluate(line), limits).velocity <= 1 + 1e-6:
        return line
    # Near the ends of the joints, where velocity limits depend on position.
    return _time_curve(np.linspace(points[0], points[1], 30), names, limits)[0]


def time_curve(points: ArrayLike, profile: RobotProfile, speed: float = 1.0) -> tuple[Trajectory, float]:
    """Trajectory along a smooth curve through three `points` or more, and the shortest time without jerk limits."""
    return _time_curve(np.asarray(points, dtype=float), profile.arm.joints, scaled(profile.arm.limits, speed))


def _stand(names: tuple[str, ...], q: FloatArray) -> Trajectory:
    zero = np.zeros((2, len(q)))
    return Trajectory(names, np.array([0.0, _SHORTEST_S]), np.vstack([q, q]), zero, zero.copy())


def _time_line(start: FloatArray, end: FloatArray, names: tuple[str, ...], limits: JointLimits) -> Trajectory:
    """One jerk-limited profile for all joints together; the points are where its jerk changes, and some between."""
    length = float(np.abs(end - start).max())
    direction = (end - start) / length
    share = np.maximum(np.abs(direction), 1e-9)
    parameters = ruckig.InputParameter(1)
    parameters.current_position, parameters.target_position = [0.0], [length]
    parameters.max_velocity = [float((np.array(limits.velocity) / share).min())]
    parameters.max_acceleration = [float((np.array(limits.acceleration) / share).min())]
    gentle = length / (2 * (_SHORTEST_S / 4) ** 3)  # four equal phases of this jerk take _SHORTEST_S
    parameters.max_jerk = [min(gentle, float((np.array(limits.jerk) / share).min()))]
    profile = ruckig.Trajectory(1)
    result = ruckig.Ruckig(1).calculate(parameters, profile)
    if result not in (ruckig.Result.Working, ruckig.Result.Finished):
        raise TimingError(f"no profile for a line of {length:.6f} rad: {result}")
    switches = np.cumsum(profile.profiles[0][0].t)
    spacing = max(_SPACING_S, profile.duration / (MAX_POINTS - 10))
    filled = np.linspace(0, profile.duration, max(2, int(np.ceil(profile.duration / spacing)) + 1))
    times = np.round(_merge(filled[[0, -1]], switches, filled), 9)
    samples = np.array([[row[0] for row in profile.at_time(t)[:3]] for t in times])
    samples[0], samples[-1] = (0.0, 0.0, 0.0), (length, 0.0, 0.0)
    positions = start + samples[:, :1] * direction
    positions[-1] = end
    line = Trajectory(names, times, positions, samples[:, 1:2] * direction, samples[:, 2:] * direction)
    return fit(line, limits, stretch_velocity=False)


def _merge(*wanted: FloatArray) -> FloatArray:
    """All of `wanted`, sorted, without those that come too close to one from an earlier group."""
    kept: list[float] = []
    for t in np.concatenate(wanted).tolist():
        if all(abs(t - other) >= _CLOSEST_S for other in kept):
            kept.append(t)
    return np.array(sorted(kept))


def _time_curve(points: FloatArray, names: tuple[str, ...], limits: JointLimits) -> tuple[Trajectory, float]:
    """TOPP-RA for velocity and acceleration, a filter for jerk, one stretch of time for what is left."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    arc = np.concatenate([[0.0], np.cumsum(steps)])
    path: CurvedPath = _toppra().SplineInterpolator(arc, points)
    progress = _fastest(float(arc[-1]), path, limits)
    duration = float(progress.x[-1])
    # Jerk after the filter is at most 2 · acceleration / width; the points must resolve the filter.
    sharpest = 2 * float((np.array(limits.acceleration) / np.array(limits.jerk)).max())
    width = max(sharpest, _SMOOTHING_S, 3 * duration / (MAX_POINTS - 10))
    times = np.linspace(-width, duration + width, int(min(MAX_POINTS, max(20, 3 * duration / width + 7))))
    s, speed, acceleration = _smooth(progress, width, times)
    s = np.clip(s, 0.0, arc[-1])
    tangent, bend = path(s, 1), path(s, 2)
    positions = path(s)
    velocities = tangent * speed[:, None]
    accelerations = bend * speed[:, None] ** 2 + tangent * acceleration[:, None]
    positions[0], positions[-1] = points[0], points[-1]
    velocities[[0, -1]] = accelerations[[0, -1]] = 0.0
    curve = Trajectory(names, times - times[0], positions, velocities, accelerations)
    used = usage(evaluate(curve), limits)
    if used.outside_rad > _OUTSIDE_RAD:
        name = names[used.outside_joint]
        raise TimingError(
            f"between its points the path leaves the limits of {name} by {used.outside_rad:.4f} rad"
        )
    return fit(curve, limits), duration


def _fastest(length: float, path: CurvedPath, limits: JointLimits) -> PPoly:
    """Arc length over time, piecewise quadratic: the time-optimal run along the path without jerk limits."""
    speed = optimum(path, length, limits)
    grid = np.linspace(0, length, len(speed))
    between = speed[:-1] + speed[1:]
    if (between <= 0).any():
        raise TimingError("the path leads where a joint may not move at all")
    step = 2 * np.diff(grid) / between
    times = np.concatenate([[0.0], np.cumsum(step)])
    return PPoly(np.stack([np.diff(speed) / step / 2, speed[:-1], grid[:-1]]), times)


def optimum(path: CurvedPath, length: float, limits: JointLimits, intervals: int = _GRID) -> FloatArray:
    """Fastest speed along `path` at ``intervals + 1`` even parameters from 0 to `length`, rest to rest (TOPP-RA).

    Velocity limits, position-dependent ones included, and acceleration limits hold.
    """
    toppra = _toppra()
    grid = np.linspace(0, length, intervals + 1)
    bounds = np.stack(velocity_bounds(limits, path(grid)), axis=-1)

    def velocity(s: float) -> FloatArray:
        there: FloatArray = bounds[round(s / length * intervals)]
        return there

    instance = toppra.algorithm.TOPPRA(
        [
            toppra.constraint.JointVelocityConstraintVarying(velocity),
            toppra.constraint.JointAccelerationConstraint(np.array(limits.acceleration)),
        ],
        path,
        gridpoints=grid,
        solver_wrapper="seidel",
    )
    _, speed, _ = instance.compute_parameterization(0, 0)
    if speed is None or not np.isfinite(speed).all():
        raise TimingError("the path leads where a joint may not move at all")
    return np.asarray(speed, dtype=float)


def optimal_duration(points: ArrayLike, limits: JointLimits) -> float:
    """Shortest time, s, along a smooth path through `points` ``[points, joints]`` without jerk limits (TOPP-RA)."""
    rows = np.asarray(points, dtype=float)
    arc = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(rows, axis=0), axis=1))])
    speed = optimum(_toppra().SplineInterpolator(arc, rows), float(arc[-1]), limits, 4 * _GRID)
    return float((2 * np.diff(np.linspace(0, arc[-1], len(speed))) / (speed[:-1] + speed[1:])).sum())


def _toppra() -> Any:
    """Import the library late: it brings a plotting library along, which takes a second."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    import toppra

    logging.getLogger("toppra").setLevel(logging.CRITICAL)  # what fails is raised
    return toppra


def _smooth(progress: PPoly, width: float, times: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Value, first and second derivative of `progress` filtered by a triangle of half-width `width`, exactly.

    The filter is a second difference of the second integral; it keeps start and end, both at rest.
    """
    end = float(progress.x[-1])
    value = float(progress(end))
    knots = np.concatenate([[-2 * width], progress.x, [end + 2 * width]])
    still = np.zeros((3, 1))
    rest = np.array([[0.0], [0.0], [value]])
    padded = PPoly(np.concatenate([still, progress.c, rest], axis=1), knots)

    def second_difference(function: PPoly) -> FloatArray:
        at = [function(times + shift) for shift in (-width, 0.0, width)]
        return np.asarray((at[0] - 2 * at[1] + at[2]) / width**2, dtype=float)

    once = padded.antiderivative()
    return second_difference(once.antiderivative()), second_difference(once), second_difference(padded)


def along(trajectory: Trajectory, step_rad: float) -> FloatArray:
    """Positions ``[points, joints]`` along a trajectory, start and end included, about `step_rad` apart."""
    reach = np.abs(np.diff(trajectory.positions, axis=0)).max(initial=0.0)
    positions = evaluate(trajectory, max(3, int(np.ceil(2 * reach / step_rad)) + 1)).position
    travelled = np.cumsum(np.abs(np.diff(positions, axis=0)).max(axis=1))
    chosen = np.flatnonzero(np.diff(np.floor(np.concatenate([[0.0], travelled]) / step_rad), prepend=-1.0))
    return positions[np.union1d(chosen, len(positions) - 1)]


def fit(trajectory: Trajectory, limits: JointLimits, *, stretch_velocity: bool = True) -> Trajectory:
    """Stretch time evenly so that velocity, acceleration and jerk are within `limits` everywhere.

    Parameters
    ----------
    stretch_velocity : False leaves a velocity beyond its limit as it is.
    """
    used = usage(evaluate(trajectory), limits)
    stretch = max(used.acceleration**0.5, used.jerk ** (1 / 3), used.velocity if stretch_velocity else 0.0)
    if stretch <= 1:
        return trajectory
    stretch *= _OVERSTRETCH
    return Trajectory(
        trajectory.names,
        trajectory.times * stretch,
        trajectory.positions,
        trajectory.velocities / stretch,
        trajectory.accelerations / stretch**2,
    )
