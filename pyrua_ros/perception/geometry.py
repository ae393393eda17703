"""Pixels, depth and camera pose to points in the base frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
DepthImage = NDArray[np.float32]


@dataclass(frozen=True)
class Intrinsics:
    """Pinhole camera; whole numbers are pixel centres, all values in pixels."""

    fx: float
    fy: float
    cx: float
    cy: float
    width: int
    height: int

    @classmethod
    def from_fovy(cls, fovy_rad: float, width: int, height: int) -> Intrinsics:
        """Square pixels, optical axis through the middle of the image."""
        focal = height / 2 / float(np.tan(fovy_rad / 2))
        return cls(focal, focal, (width - 1) / 2, (height - 1) / 2, width, height)


def points_in_camera(depth: DepthImage, intrinsics: Intrinsics) -> NDArray[np.float32]:
    """``float32 [height, width, 3]`` m in the optical frame (x right, y down, z forward), NaN without depth.

    `depth` is ``[height, width]``, metres along the optical axis.
    """
    columns = (np.arange(depth.shape[1], dtype=np.float32) - intrinsics.cx) / intrinsics.fx
    rows = (np.arange(depth.shape[0], dtype=np.float32) - intrinsics.cy) / intrinsics.fy
    points = np.empty((*depth.shape, 3), np.float32)
    points[..., 0] = columns[None, :] * depth
    points[..., 1] = rows[:, None] * depth
    points[..., 2] = depth
    return points


def to_base(points: NDArray[np.float32], camera_pose: FloatArray) -> NDArray[np.float32]:
    """Move ``[..., 3]`` points from the optical frame to the base frame; `camera_pose` is ``[4, 4]``."""
    rotation = camera_pose[:3, :3].astype(np.float32)
    return np.asarray(points @ rotation.T + camera_pose[:3, 3].astype(np.float32), np.float32)


def to_pixels(points: FloatArray, camera_pose: FloatArray, intrinsics: Intrinsics) -> FloatArray:
    """``[..., 2]`` (row, col) of base-frame points ``[..., 3]``; NaN for points behind the camera."""
    in_camera = (np.asarray(points, float) - camera_pose[:3, 3]) @ camera_pose[:3, :3]
    z = np.where(in_camera[..., 2] > 1e-6, in_camera[..., 2], np.nan)
    col = intrinsics.fx * in_camera[..., 0] / z + intrinsics.cx
    row = intrinsics.fy * in_camera[..., 1] / z + intrinsics.cy
    return np.stack([row, col], axis=-1)


def surface_depth(
    depth: DepthImage, row: int, col: int, *, radius: int = 2, jump: float = 0.01
) -> float | None:
    """Depth of the surface at one pixel, metres, or None where nothing was measured.

    The median over the pixels of the neighbourhood that lie on the same surface: within `jump` times the
    depth of the centre. Neighbours beyond a depth jump never enter, so an edge yields no point in mid-air.
    """
    centre = float(depth[row, col])
    if not np.isfinite(centre):
        return None
    window = depth[max(row - radius, 0) : row + radius + 1, max(col - radius, 0) : col + radius + 1]
    return float(np.median(window[np.abs(window - centre) <= jump * centre]))


def back_project(
    depth: DepthImage, intrinsics: Intrinsics, camera_pose: FloatArray, row: int, col: int
) -> FloatArray | None:
    """Base-frame point ``[3]`` m of the surface at a pixel, or None where nothing was measured."""
    z = surface_depth(depth, row, col)
    if z is None:
        return None
    in_camera = np.array(
        [(col - intrinsics.cx) * z / intrinsics.fx, (row - intrinsics.cy) * z / intrinsics.fy, z]
    )
    point: FloatArray = camera_pose[:3, :3] @ in_camera + camera_pose[:3, 3]
    return point
