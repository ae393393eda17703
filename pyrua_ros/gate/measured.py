"""The measured state, read by joint name from whatever order `joint_states` comes in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.robot_model.profile import RobotProfile

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """Arm in the profile's joint order, and the fingers."""

    position: FloatArray  # [joints] rad
    velocity: FloatArray  # [joints] rad/s
    width: float  # m, NaN when the fingers are not reported
    steady: float  # s, steady time of arrival

    @property
    def speed(self) -> float:
        """Of the fastest joint, rad/s."""
        return float(np.abs(self.velocity).max())


def read(
    profile: RobotProfile,
    names: Sequence[str],
    positions: Sequence[float],
    velocities: Sequence[float],
    steady: float,
    previous: Measured | None = None,
) -> Measured:
    """One joint state message as `Measured`.

    Velocities may be absent; they are then differences from `previous`. Raises `ValueError` that names the
    arm joint that is missing or not finite. Missing fingers do not stop the arm: the width is NaN.
    """
    index = {name: i for i, name in enumerate(names)}
    missing = [joint for joint in profile.arm.joints if joint not in index]
    if missing:
        raise ValueError(
            f"joint_states lack {', '.join(missing)}; they have {', '.join(names) or 'no names'}"
        )
    if len(positions) != len(names):
        raise ValueError(f"joint_states have {len(positions)} positions for {len(names)} names")
    columns = [index[joint] for joint in profile.arm.joints]
    position = np.array([positions[i] for i in columns], dtype=np.float64)
    if len(velocities) == len(names):
        velocity = np.array([velocities[i] for i in columns], dtype=np.float64)
    elif previous is not None and steady > previous.steady:
        velocity = (position - previous.position) / (steady - previous.steady)
    else:
        velocity = np.zeros(len(columns))
    for quantity, row in (("position", position), ("velocity", velocity)):
        if not np.isfinite(row).all():
            joint = profile.arm.joints[int(np.flatnonzero(~np.isfinite(row))[0])]
            raise ValueError(f"joint_states: {quantity} of {joint} is not finite")
    fingers = [index[joint] for joint in profile.gripper.joints if joint in index]
    width = (
        sum(positions[i] for i in fingers) if len(fingers) == len(profile.gripper.joints) else float("nan")
    )
    return Measured(position, velocity, float(width), steady)
