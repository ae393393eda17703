"""Rotations as xyzw quaternions; the one place that knows transforms3d's wxyz order."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from transforms3d import euler, quaternions

FloatArray = NDArray[np.float64]


def _wxyz(quat: ArrayLike) -> FloatArray:
    x, y, z, w = np.asarray(quat, dtype=float)
    return np.array([w, x, y, z])


def _xyzw(quat: ArrayLike) -> FloatArray:
    w, x, y, z = np.asarray(quat, dtype=float)
    return np.array([x, y, z, w])


def quat_to_matrix(quat: ArrayLike) -> FloatArray:
    """Rotation matrix ``[3, 3]`` of an xyzw quaternion (any length but zero)."""
    return np.asarray(quaternions.quat2mat(_wxyz(quat)), dtype=float)


def matrix_to_quat(matrix: ArrayLike) -> FloatArray:
    """Return the unit xyzw quaternion with w >= 0 of a rotation matrix ``[3, 3]``."""
    quat = _xyzw(quaternions.mat2quat(np.asarray(matrix, dtype=float)))
    return quat if quat[3] >= 0 else -quat


def rpy_to_quat(roll: float, pitch: float, yaw: float) -> FloatArray:
    """Xyzw quaternion of rotations about the fixed x, then y, then z axis, rad."""
    return _xyzw(euler.euler2quat(roll, pitch, yaw, axes="sxyz"))


def quat_to_rpy(quat: ArrayLike) -> tuple[float, float, float]:
    """Angles about the fixed x, then y, then z axis, rad."""
    roll, pitch, yaw = euler.quat2euler(_wxyz(quat), axes="sxyz")
    return float(roll), float(pitch), float(yaw)


def multiply(left: ArrayLike, right: ArrayLike) -> FloatArray:
    """``left · right``, xyzw: first `right`, then `left`, both about fixed axes."""
    return _xyzw(quaternions.qmult(_wxyz(left), _wxyz(right)))


def axis_angle_to_quat(axis: ArrayLike, angle: float) -> FloatArray:
    """Xyzw quaternion that turns by `angle` rad about `axis` ``[3]``."""
    return _xyzw(quaternions.axangle2quat(np.asarray(axis, dtype=float), angle))


def angle_between(first: ArrayLike, second: ArrayLike) -> float:
    """Angle of the rotation that takes `first` to `second`, 0..pi rad."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    if np.dot(a, b) < 0:
        b = -b
    return float(4 * math.atan2(np.linalg.norm(a - b), np.linalg.norm(a + b)))


def rotation_vector(matrix: FloatArray) -> FloatArray:
    """Axis times angle, ``[3]`` rad, of a rotation matrix ``[3, 3]``."""
    sine_axis = 0.5 * np.array(
        [matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]]
    )
    sine = math.sqrt(sine_axis[0] ** 2 + sine_axis[1] ** 2 + sine_axis[2] ** 2)
    cosine = 0.5 * (matrix[0, 0] + matrix[1, 1] + matrix[2, 2] - 1)
    if sine > 1e-6:
        scaled: FloatArray = sine_axis * (math.atan2(sine, cosine) / sine)
        return scaled
    if cosine > 0:
        return sine_axis
    axis, angle = quaternions.quat2axangle(quaternions.mat2quat(matrix))
    return np.array([float(component) * float(angle) for component in axis])


def slerp(start: ArrayLike, end: ArrayLike, fraction: float) -> FloatArray:
    """Return the xyzw rotation at `fraction` (0..1) of the shortest turn from `start` to `end`."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    if np.dot(a, b) < 0:
        b = -b
    half = 2 * math.atan2(np.linalg.norm(a - b), np.linalg.norm(a + b))
    if half > 1e-9:
        a = (math.sin((1 - fraction) * half) * a + math.sin(fraction * half) * b) / math.sin(half)
    return np.asarray(a / np.linalg.norm(a), dtype=float)


def pose_matrix(xyz: ArrayLike, quat: ArrayLike) -> FloatArray:
    """Homogeneous transform ``[4, 4]`` of a position and an xyzw quaternion."""
    pose = np.eye(4)
    pose[:3, :3] = quat_to_matrix(quat)
    pose[:3, 3] = xyz
    return pose


def down_quat(yaw: float = 0.0, pitch: float = 0.0) -> FloatArray:
    """Xyzw orientation of a hand that points straight down.

    Parameters
    ----------
    yaw : turn about the world's z axis; at 0 the fingers open along the world's y axis.
    pitch : tilt about the hand's own opening axis before the turn; positive tilts the fingertips away
        from the base at yaw 0.
    """
    straight_down = np.array([1.0, 0.0, 0.0, 0.0])
    tilt = axis_angle_to_quat([0, 1, 0], -pitch)
    turn = axis_angle_to_quat([0, 0, 1], yaw)
    return multiply(turn, multiply(tilt, straight_down))
