"""The interface between `robo.segment` and whatever finds objects: colours and shapes here, SAM3 or a VLM elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.perception.geometry import Intrinsics
from pyrua_ros.results import Segment

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class SolidBox:
    """An oriented box in the base frame: `pose` ``[4, 4]`` of its centre, `half` ``[3]`` m."""

    pose: FloatArray
    half: FloatArray


@dataclass(frozen=True)
class View:
    """One RGB-D frame and where it was taken from; nothing else may a segmenter know.

    Parameters
    ----------
    rgb : ``uint8 [height, width, 3]``.
    depth : ``float32 [height, width]`` m along the optical axis, NaN where unknown.
    camera_pose : ``[4, 4]``, optical frame in the base frame.
    robot : the robot's own bodies at the time of the frame, from its joint positions.
    """

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    intrinsics: Intrinsics
    camera_pose: FloatArray
    camera: str = ""
    robot: tuple[SolidBox, ...] = ()


class Segmenter(Protocol):
    """Finds one object in one frame."""

    def segment(self, view: View, prompt: str | None = None, point: tuple[int, int] | None = None) -> Segment:
        """Segment the object that `prompt` describes, or the one at pixel `point` (row, col).

        Exactly one of both is given. An object that is not there is a result with ``found=False`` and a
        reason; `ValueError` is for a prompt that cannot be understood.
        """
        ...
