"""Where the arm is asked to go, and what is misuse rather than bad luck."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.rotations import down_quat

FloatArray = NDArray[np.float64]

#: A measured joint may be this far outside its limit and still start a motion, rad: it is clamped.
START_TOLERANCE_RAD = 0.01


def numbers(value: ArrayLike, length: int | None, what: str) -> FloatArray:
    """Return `value` as `length` finite floats (None: any number); raises `ValueError` that shows the value."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(())
    expected = array.shape[:1] if length is None else (length,)
    if isinstance(value, str) or array.ndim != 1 or array.shape != expected or not np.isfinite(array).all():
        raise ValueError(f"{what} must be {length or 'a row of'} finite numbers, got {value!r}")
    return array


@dataclass(frozen=True)
class JointGoal:
    """Joint positions ``[joints]`` rad."""

    q: FloatArray

    def __post_init__(self) -> None:
        """Refuse what is not numbers."""
        object.__setattr__(self, "q", numbers(self.q, None, "q"))


@dataclass(frozen=True)
class PoseGoal:
    """A pose of the end effector in the base frame; by default the hand points straight down."""

    xyz: FloatArray  # [3] m
    quat: FloatArray = field(default_factory=down_quat)  # [4] xyzw, made unit length
    straight: bool = False  # the end effector moves on a straight line and turns evenly

    def __post_init__(self) -> None:
        """Refuse what is not numbers; make the quaternion unit length."""
        object.__setattr__(self, "xyz", numbers(self.xyz, 3, "xyz"))
        quat = numbers(self.quat, 4, "quat (xyzw)")
        norm = float(np.linalg.norm(quat))
        if norm < 1e-6:
            raise ValueError(f"quat (xyzw) must not be zero, got {quat.tolist()}")
        object.__setattr__(self, "quat", quat / norm)


Goal = JointGoal | PoseGoal


def check_goal(goal: Goal, profile: RobotProfile) -> None:
    """Refuse goals that no planner could be asked for; raises `ValueError` with value and allowed range."""
    if isinstance(goal, PoseGoal):
        _check_workspace(goal.xyz, profile)
        return
    numbers(goal.q, len(profile.arm.joints), "q")
    for name, value, lower, upper in _rows(goal.q, profile):
        if not lower - 1e-9 <= value <= upper + 1e-9:
            raise ValueError(f"{name} = {value:.4f} rad is outside its limits [{lower:.4f}, {upper:.4f}]")


def check_speed(speed: object) -> float:
    """Return `speed` as a share of the limits; raises `ValueError` unless it is in (0, 1]."""
    if isinstance(speed, bool) or not isinstance(speed, (int, float, np.floating)) or not 0 < speed <= 1:
        raise ValueError(f"speed must be a number in (0, 1], got {speed!r}")
    return float(speed)


def admissible_start(start_q: ArrayLike, profile: RobotProfile) -> FloatArray:
    """Return the measured joints, clamped when they are a hair outside; raises `ValueError` when they are far."""
    q = numbers(start_q, len(profile.arm.joints), "the start")
    for name, value, lower, upper in _rows(q, profile):
        beyond = max(lower - value, value - upper)
        if beyond > START_TOLERANCE_RAD:
            raise ValueError(
                f"{name} is at {value:.4f} rad, {beyond:.4f} rad outside its limits [{lower:.4f}, {upper:.4f}]; "
                f"bring it back by hand: no motion starts more than {START_TOLERANCE_RAD} rad outside"
            )
    return np.clip(q, profile.position_lower, profile.position_upper)


def _rows(q: FloatArray, profile: RobotProfile) -> list[tuple[str, float, float, float]]:
    limits = profile.arm.limits
    return list(
        zip(profile.arm.joints, q.tolist(), limits.position_lower, limits.position_upper, strict=True)
    )


def _check_workspace(xyz: FloatArray, profile: RobotProfile) -> None:
    box = profile.workspace
    for axis, value, lower, upper in zip("xyz", xyz.tolist(), box.lower, box.upper, strict=True):
        if not lower <= value <= upper:
            raise ValueError(
                f"{axis} = {value:.3f} m is outside the workspace: {axis} must be in [{lower:g}, {upper:g}]"
            )
