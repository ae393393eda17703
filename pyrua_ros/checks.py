"""Checks of the arguments of `robo`'s calls: one clear `ValueError` each, before anything moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.robot_model.profile import Box, RobotProfile

FloatArray = NDArray[np.float64]


def number(name: str, value: Any, lower: float | None = None, upper: float | None = None) -> float:
    """Return a finite number within [lower, upper]."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ValueError(f"{name} must be a number, got {value!r}")  # noqa: TRY004
    result = float(value)
    if not np.isfinite(result):
        raise ValueError(f"{name} must be finite, got {value!r}")
    if (lower is not None and result < lower) or (upper is not None and result > upper):
        allowed = f"at least {lower:g}" if upper is None else f"within [{lower:g}, {upper:g}]"
        raise ValueError(f"{name} must be {allowed}, got {result:g}")
    return result


def positive(name: str, value: Any) -> float:
    """Return a finite number above zero."""
    result = number(name, value)
    if result <= 0:
        raise ValueError(f"{name} must be above 0, got {result:g}")
    return result


def vector(name: str, value: Any, length: int) -> FloatArray:
    """Return `length` finite numbers."""
    if isinstance(value, (str, bytes, dict, set)):
        raise ValueError(f"{name} must be {length} numbers, got {value!r}")  # noqa: TRY004
    try:
        items = list(np.asarray(value).tolist() if isinstance(value, np.ndarray) else value)
    except TypeError:
        raise ValueError(f"{name} must be {length} numbers, got {value!r}") from None
    if len(items) != length:
        raise ValueError(f"{name} must be {length} numbers, got {len(items)}: {value!r}")
    return np.array([number(f"{name}[{i}]", item) for i, item in enumerate(items)])


def points(name: str, value: Any) -> FloatArray:
    """Return world points ``[count, 3]`` m; those that are unknown (NaN) are left out."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim < 2 or array.shape[-1] != 3:
        raise ValueError(f"{name} must be world points [N,3], or give size for a box, got {_short(value)}")
    rows: FloatArray = array.reshape(-1, 3)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if not len(rows):
        raise ValueError(f"{name} has no point that is known")
    return rows


def obstacle_name(name: Any, profile: RobotProfile) -> str:
    """Return a name that no part of the robot and not the table has."""
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"name must be words such as 'box', got {name!r}")
    if name in ("table", "held object") or name.startswith(f"{profile.name}_"):
        raise ValueError(f"name {name!r} is taken: the robot's links, the table and what is held have names")
    return name.strip()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def unit_quaternion(name: str, value: Any) -> FloatArray:
    """Return four finite numbers, xyzw, of about unit length; returned with unit length."""
    quat = vector(name, value, 4)
    length = float(np.linalg.norm(quat))
    if not 0.9 < length < 1.1:
        raise ValueError(f"{name} must be a unit quaternion (xyzw), got length {length:.3g}")
    return quat / length


def pixel(row: Any, col: Any, height: int, width: int) -> tuple[int, int]:
    """Return a pixel inside the image."""
    return (int(number("row", row, 0, height - 1)), int(number("col", col, 0, width - 1)))


def crop_box(value: Any, height: int, width: int) -> tuple[int, int, int, int]:
    """Return (row0, col0, row1, col1), half open, not empty, inside the image."""
    row0, col0, row1, col1 = (int(v) for v in vector("crop", value, 4))
    if not (0 <= row0 < row1 <= height and 0 <= col0 < col1 <= width):
        raise ValueError(
            f"crop is (row0, col0, row1, col1) with row0 < row1 <= {height} and col0 < col1 <= {width}, "
            f"got {(row0, col0, row1, col1)}"
        )
    return row0, col0, row1, col1


def _inside(point: FloatArray, box: Box) -> bool:
    return bool(np.all(point > np.array(box.lower)) and np.all(point < np.array(box.upper)))


def target_point(name: str, point: FloatArray, profile: RobotProfile) -> FloatArray:
    """Return a point that the fingertips may be sent to: in the workspace, not in the table."""
    for axis, value, lower, upper in zip(
        "xyz", point, profile.workspace.lower, profile.workspace.upper, strict=True
    ):
        if not lower <= value <= upper:
            raise ValueError(
                f"{name} is out of the workspace: {axis}={value:.3f} m, allowed is [{lower:g}, {upper:g}]"
            )
    if profile.table is not None and _inside(point, profile.table):
        raise ValueError(
            f"{name} is inside the table: z={point[2]:.3f} m, the table top is at z={profile.table.upper[2]:g}"
        )
    return point


def joint_positions(value: Any, profile: RobotProfile) -> FloatArray:
    """Return one angle per arm joint, each within its limits."""
    q = vector("q", value, len(profile.arm.joints))
    for joint, angle, lower, upper in zip(
        profile.arm.joints, q, profile.position_lower, profile.position_upper, strict=True
    ):
        if not lower <= angle <= upper:
            raise ValueError(f"{joint} must be within [{lower:.3f}, {upper:.3f}] rad, got {angle:.3f}")
    return q
