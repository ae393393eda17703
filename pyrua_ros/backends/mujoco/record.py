"""The largest joint velocities and accelerations so far, commanded and measured: evidence for fault campaigns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.robot_model.trajectory import JointSample

FloatArray = NDArray[np.float64]


class MotionRecord:
    """Maxima of the absolute values, per joint, since the start or the last `reset`."""

    def __init__(self, joints: int) -> None:
        self._maxima = {
            name: np.zeros(joints)
            for name in (
                "commanded_velocity",
                "commanded_acceleration",
                "measured_velocity",
                "measured_acceleration",
                "tracking_error",
            )
        }

    def add(
        self, desired: JointSample, position: FloatArray, velocity: FloatArray, acceleration: FloatArray
    ) -> None:
        """Take in one step, each ``[joints]``."""
        for name, value in (
            ("commanded_velocity", desired.velocity),
            ("commanded_acceleration", desired.acceleration),
            ("measured_velocity", velocity),
            ("measured_acceleration", acceleration),
            ("tracking_error", desired.position - position),
        ):
            maximum = self._maxima[name]
            np.maximum(maximum, np.abs(value), out=maximum)

    def reset(self) -> None:
        """Forget everything."""
        for maximum in self._maxima.values():
            maximum[:] = 0.0

    def as_dict(self) -> dict[str, list[float]]:
        """Per quantity one value per joint; rad, rad/s, rad/s²."""
        return {name: maximum.tolist() for name, maximum in self._maxima.items()}
