"""The largest joint velocities and accelerations so far, commanded and measured: evidence for fault campaigns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.robot_model.trajectory import JointSample

FloatArray = NDArray[np.float64]

_QUANTITIES = (
    "commanded_velocity",
    "commanded_acceleration",
    "measured_velocity",
    "measured_acceleration",
    "tracking_error",
)


class MotionRecord:
    """Maxima of the absolute values, per joint, since the start or the last `reset`."""

    def __init__(self, joints: int) -> None:
        self._maxima = np.zeros((len(_QUANTITIES), joints))
        self._now = np.zeros_like(self._maxima)

    def add(
        self, desired: JointSample, position: FloatArray, velocity: FloatArray, acceleration: FloatArray
    ) -> None:
        """Take in one step, each ``[joints]``."""
        now = self._now
        now[0] = desired.velocity
        now[1] = desired.acceleration
        now[2] = velocity
        now[3] = acceleration
        np.subtract(desired.position, position, out=now[4])
        np.abs(now, out=now)
        np.maximum(self._maxima, now, out=self._maxima)

    def reset(self) -> None:
        """Forget everything."""
        self._maxima[:] = 0.0

    def as_dict(self) -> dict[str, list[float]]:
        """Per quantity one value per joint; rad, rad/s, rad/s²."""
        return {name: row.tolist() for name, row in zip(_QUANTITIES, self._maxima, strict=True)}
