"""How close a motion comes to the joints' limits, between its points too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyrua_ros.robot_model.profile import JointLimits
from pyrua_ros.robot_model.trajectory import Trajectory

FloatArray = NDArray[np.float64]


def velocity_bounds(limits: JointLimits, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest velocity, rad/s, at joint positions `q` ``[..., joints]``; same shape as `q`.

    The constant limit, and near a joint's end Franka's position-dependent one (see `SlowDown`), which only
    slows motion towards that end.
    """
    position = np.asarray(q, dtype=float)
    constant = np.broadcast_to(np.array(limits.velocity), position.shape)
    if limits.slowdown is None:
        return -constant, constant.copy()
    slow = limits.slowdown
    double, offset = 2 * np.array(slow.deceleration), np.array(slow.offset)
    below = np.sqrt(np.maximum(0.0, double * (position - np.array(slow.stop_lower)))) - offset
    above = np.sqrt(np.maximum(0.0, double * (np.array(slow.stop_upper) - position))) - offset
    return -np.clip(below, 0.0, constant), np.clip(above, 0.0, constant)


@dataclass(frozen=True)
class Motion:
    """A trajectory evaluated between its points too; every array ``[samples, joints]`` but `times` ``[samples]``."""

    times: FloatArray
    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    jerk: FloatArray


def evaluate(trajectory: Trajectory, per_segment: int = 11) -> Motion:
    """All derivatives at `per_segment` moments of each segment, both its ends included.

    Evaluates the same quintics as `Trajectory.sample`, all at once. Jerk may jump at a point, which therefore
    appears twice: as the end of one segment and the start of the next.
    """
    if len(trajectory.times) < 2:
        zero = np.zeros_like(trajectory.positions)
        return Motion(
            trajectory.times, trajectory.positions, trajectory.velocities, trajectory.accelerations, zero
        )
    h = np.diff(trajectory.times)[:, None]
    p0, p1 = trajectory.positions[:-1], trajectory.positions[1:]
    v0, v1 = trajectory.velocities[:-1], trajectory.velocities[1:]
    a0, a1 = trajectory.accelerations[:-1], trajectory.accelerations[1:]
    c3 = (20 * (p1 - p0) - (8 * v1 + 12 * v0) * h - (3 * a0 - a1) * h**2) / (2 * h**3)
    c4 = (30 * (p0 - p1) + (14 * v1 + 16 * v0) * h + (3 * a0 - 2 * a1) * h**2) / (2 * h**4)
    c5 = (12 * (p1 - p0) - 6 * (v1 + v0) * h - (a0 - a1) * h**2) / (2 * h**5)
    t = np.linspace(0, 1, per_segment)[None, :, None] * h[:, None, :]
    p0, v0, a0, c3, c4, c5 = (c[:, None, :] for c in (p0, v0, a0, c3, c4, c5))
    joints = len(trajectory.names)
    return Motion(
        (trajectory.times[:-1, None] + t[:, :, 0]).ravel(),
        (p0 + t * (v0 + t * (a0 / 2 + t * (c3 + t * (c4 + t * c5))))).reshape(-1, joints),
        (v0 + t * (a0 + t * (3 * c3 + t * (4 * c4 + t * 5 * c5)))).reshape(-1, joints),
        (a0 + t * (6 * c3 + t * (12 * c4 + t * 20 * c5))).reshape(-1, joints),
        (6 * c3 + t * (24 * c4 + t * 60 * c5)).reshape(-1, joints),
    )


@dataclass(frozen=True)
class Usage:
    """Largest share of each limit that a motion uses, 1 = at the limit, and the joint (index) that uses it."""

    velocity: float
    acceleration: float
    jerk: float
    velocity_joint: int
    acceleration_joint: int
    jerk_joint: int
    outside_rad: float  # how far a position leaves its limits; 0 = inside
    outside_joint: int


def usage(motion: Motion, limits: JointLimits) -> Usage:
    """Compare `motion` with `limits`, position-dependent velocity limits included."""
    lowest, highest = velocity_bounds(limits, motion.position)
    bound = np.where(motion.velocity < 0, -lowest, highest)
    # A standing joint uses nothing, also where its limit is 0.
    moving = np.abs(motion.velocity) > 1e-9
    velocity = (np.abs(motion.velocity) / np.maximum(bound, 1e-9) * moving).max(axis=0)
    acceleration = (np.abs(motion.acceleration) / np.array(limits.acceleration)).max(axis=0)
    jerk = (np.abs(motion.jerk) / np.array(limits.jerk)).max(axis=0)
    below = np.array(limits.position_lower) - motion.position
    above = motion.position - np.array(limits.position_upper)
    outside = np.maximum(below, above).max(axis=0)
    return Usage(
        velocity=float(velocity.max()),
        acceleration=float(acceleration.max()),
        jerk=float(jerk.max()),
        velocity_joint=int(velocity.argmax()),
        acceleration_joint=int(acceleration.argmax()),
        jerk_joint=int(jerk.argmax()),
        outside_rad=max(0.0, float(outside.max())),
        outside_joint=int(outside.argmax()),
    )
