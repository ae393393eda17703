"""The fastest run along a path within velocity and acceleration limits (TOPP-RA, Pham and Pham 2018)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_NO_MOTION = 1e-9  # a joint whose tangent is smaller does not move with the path


def fastest_speed(
    grid: FloatArray,
    tangent: FloatArray,
    bend: FloatArray,
    max_velocity: FloatArray,
    max_acceleration: FloatArray,
) -> FloatArray:
    """Speed of the path parameter s at each grid point, from rest to rest, ``[points]``.

    With x = ṡ² and u = s̈, joint k obeys ``|tangent_k| ṡ <= max_velocity_k`` and
    ``|tangent_k u + bend_k x| <= max_acceleration_k``, and x grows by 2 Δ u over a grid step Δ. A backward
    pass finds the largest x from which the rest of the path can still be run; a forward pass takes the
    largest u that stays below it. Standing still is always legal, so that both passes always succeed; a grid
    point where a joint may not move at all comes out with speed 0.

    Parameters
    ----------
    grid : ``[points]`` values of s, increasing.
    tangent, bend : first and second derivative of the path by s, ``[points, joints]``.
    max_velocity : ``[points, joints]``, in the direction of motion, >= 0.
    max_acceleration : ``[joints]``.
    """
    steps = np.diff(grid)
    moving = np.abs(tangent) > _NO_MOTION
    slope = np.where(moving, np.abs(tangent), 1.0)
    # u <= reach - lean x and u >= -reach - lean x, for each joint.
    reach = np.where(moving, max_acceleration / slope, np.inf)
    lean = np.where(moving, np.sign(tangent) * bend / slope, 0.0)
    ceiling = _ceiling(moving, slope, reach, lean, bend, max_velocity, max_acceleration)

    reachable = ceiling.copy()
    reachable[-1] = 0.0
    for i in range(len(steps) - 1, -1, -1):
        per_x = 1 / (2 * steps[i])
        # u <= (next - x) per_x against the lower bounds, and u >= -x per_x against the upper ones.
        highest = _highest(reachable[i + 1] * per_x + reach[i], per_x - lean[i])
        reachable[i] = min(reachable[i], highest, _highest(reach[i], lean[i] - per_x))
    x = np.zeros(len(grid))
    for i, step in enumerate(steps):
        u = min(float((reach[i] - lean[i] * x[i]).min()), (reachable[i + 1] - x[i]) / (2 * step))
        x[i + 1] = min(max(0.0, x[i] + 2 * step * u), reachable[i + 1])
    return np.sqrt(x)


def _ceiling(
    moving: NDArray[np.bool_],
    slope: FloatArray,
    reach: FloatArray,
    lean: FloatArray,
    bend: FloatArray,
    max_velocity: FloatArray,
    max_acceleration: FloatArray,
) -> FloatArray:
    """Largest x ``[points]`` that some u can go with: velocity limits, and each pair of acceleration limits."""
    by_velocity = np.where(moving, (max_velocity / slope) ** 2, np.inf).min(axis=1)
    by_bend = np.where(moving, np.inf, max_acceleration / np.maximum(np.abs(bend), 1e-12)).min(axis=1)
    room = reach[:, :, None] + reach[:, None, :]
    spread = lean[:, :, None] - lean[:, None, :]
    by_pair = np.where(spread > 0, room / np.where(spread > 0, spread, 1.0), np.inf).min(axis=(1, 2))
    ceiling: FloatArray = np.minimum(np.minimum(by_velocity, by_bend), by_pair)
    return ceiling


def _highest(room: FloatArray, spread: FloatArray) -> float:
    """Largest x with ``spread x <= room`` in every row (room >= 0)."""
    binding = spread > 0
    return float((room[binding] / spread[binding]).min()) if binding.any() else np.inf
