"""What stands round the robot and what it holds, as boxes that a collision check can use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

#: Points become boxes on a grid of this size, m, coarser where that takes too many.
VOXEL_M = 0.03
MOST_BOXES = 60


@dataclass(frozen=True)
class Obstacle:
    """A box that the robot must not touch."""

    name: str
    xyz: tuple[float, float, float]  # its centre in the base frame, m
    size: tuple[float, float, float]  # full edge lengths, m
    yaw: float = 0.0  # turn about the base frame's z axis, rad


@dataclass(frozen=True)
class HeldBox:
    """Something between the fingers, as a box that moves with the end effector."""

    xyz_in_eef: tuple[float, float, float]  # its centre in the end effector's frame, m
    size: tuple[float, float, float]  # full edge lengths along that frame's axes, m


@dataclass(frozen=True)
class Scene:
    """All that a motion must respect besides the robot and its table."""

    obstacles: tuple[Obstacle, ...] = ()
    held: HeldBox | None = None
    gripper_width: float | None = None  # opening of the fingers, m; None = fully open


def points_as_obstacles(name: str, points: ArrayLike, voxel_m: float = VOXEL_M) -> tuple[Obstacle, ...]:
    """Boxes that cover `points` ``[..., 3]`` m (those with NaN left out), at most `MOST_BOXES`.

    Each column of a grid is filled from its lowest point to its highest; equal neighbours along x are joined.
    """
    cloud = np.asarray(points, dtype=float).reshape(-1, 3)
    cloud = cloud[np.isfinite(cloud).all(axis=1)]
    if not len(cloud):
        return ()
    while True:
        boxes = _columns(np.unique(np.floor(cloud / voxel_m).astype(int), axis=0))
        if len(boxes) <= MOST_BOXES:
            break
        voxel_m *= 1.5
    obstacles = []
    for index, (first, last) in enumerate(boxes):
        lower, upper = first * voxel_m, (last + 1) * voxel_m
        centre, size = (lower + upper) / 2, upper - lower
        obstacles.append(Obstacle(f"{name}.{index}", _triple(centre), _triple(size)))
    return tuple(obstacles)


def _triple(values: FloatArray) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _columns(cells: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """First and last cell of each box; `cells` ``[count, 3]`` are sorted by x, y, z."""
    heights: dict[tuple[int, int], tuple[int, int]] = {}
    for x, y, z in cells.tolist():
        low, high = heights.get((y, x), (z, z))
        heights[y, x] = (min(low, z), max(high, z))
    boxes: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for (y, x), (low, high) in sorted(heights.items()):
        if boxes:
            first, last = boxes[-1]
            if (last == (x - 1, y, high)).all() and first[1] == y and first[2] == low:
                boxes[-1] = (first, np.array([x, y, high]))
                continue
        boxes.append((np.array([x, y, low]), np.array([x, y, high])))
    return boxes
