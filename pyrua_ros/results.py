"""What `robo` returns: frozen values, base frame, metres, radians, seconds, xyzw quaternions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, np.ndarray):
        if value.size > 16:
            return f"array{value.shape}"
        return np.array2string(value, precision=3, suppress_small=True, separator=", ")
    if isinstance(value, tuple):
        return "(" + ", ".join(_short(v) for v in value) + ")"
    return repr(value)


class _Readable:
    """A repr short enough to print in every cell: three digits, no image data."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={_short(getattr(self, name))}" for name in self.__dataclass_fields__)  # type: ignore[attr-defined]
        return f"{type(self).__name__}({fields})"


@dataclass(frozen=True, repr=False)
class State(_Readable):
    """Where the robot is, measured."""

    eef_pos: FloatArray  # [3] m
    eef_quat: FloatArray  # [4] xyzw
    joints: FloatArray  # [7] rad
    gripper_width: float  # m
    moving: bool
    mode: str  # "agent" | "operator" | "stopped" | "unknown"


@dataclass(frozen=True, repr=False)
class Move(_Readable):
    """What a motion did. `reached` is measured, not assumed."""

    reached: bool
    status: str  # "done" | "no_plan" | "refused" | "held" | "stalled" | "timeout" | "clock"
    reason: str  # empty when reached
    final_pos: FloatArray  # [3] m, measured
    final_dist_m: float  # to the target position
    final_angle_rad: float  # to the target orientation
    duration_s: float


@dataclass(frozen=True, repr=False)
class Grip(_Readable):
    """What the fingers did. `holding`: they stopped on something wider than nothing."""

    width: float  # m, measured
    holding: bool
    stalled: bool
    reason: str = ""  # empty when the command was carried out


@dataclass(frozen=True, repr=False)
class Point(_Readable):
    """The surface point behind one pixel."""

    found: bool  # False where the pixel has no depth
    reason: str  # why not, when not found
    xyz: FloatArray | None = None  # [3] m, base frame


@dataclass(frozen=True, repr=False)
class Segment(_Readable):
    """One object in one image. `found` is False when nothing matched or it has no depth."""

    found: bool
    reason: str  # why not, when not found; else what to be wary of
    world_xyz: FloatArray | None = None  # [3] m, centre: xy of its top, z midway between top and table
    top_z: float | None = None  # m, height of its top (a bowl's rim)
    size: FloatArray | None = None  # [3] m: long side, short side, height above the table
    yaw: float | None = None  # rad; move_to(..., yaw=yaw) closes across the short side
    grasp_width: float | None = None  # m, the short side
    score: float = 0.0  # 0..1
    box: tuple[int, int, int, int] | None = None  # row0, col0, row1, col1 px, half open
    mask: NDArray[np.bool_] | None = field(default=None, compare=False)  # [height, width]
    camera: str = ""
