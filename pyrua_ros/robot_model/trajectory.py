"""A timed path through joint space and its state at any moment; the same for planner, gate and simulator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class JointSample:
    """Position, velocity and acceleration of all joints at one moment, each ``[joints]``."""

    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray


@dataclass(frozen=True)
class Trajectory:
    """Joint motion from ``times[0] == 0``.

    Parameters
    ----------
    names : joint names, one per column.
    times : ``[points]`` s, strictly increasing from 0.
    positions, velocities, accelerations : ``[points, joints]`` rad, rad/s, rad/s².

    Between points the motion is the quintic that meets position, velocity and acceleration on both
    sides, as in ros2_control's JointTrajectoryController; after the last point it rests there.
    """

    names: tuple[str, ...]
    times: FloatArray
    positions: FloatArray
    velocities: FloatArray
    accelerations: FloatArray

    def __post_init__(self) -> None:
        """Check that the arrays fit together."""
        shape = (len(self.times), len(self.names))
        for field in ("positions", "velocities", "accelerations"):
            if getattr(self, field).shape != shape:
                raise ValueError(f"{field} has shape {getattr(self, field).shape}, expected {shape}")
        if len(self.times) == 0:
            raise ValueError("a trajectory needs at least one point")

    @property
    def duration(self) -> float:
        """Seconds from the first point to the last."""
        return float(self.times[-1])

    @property
    def end(self) -> FloatArray:
        """Joint positions of the last point, ``[joints]`` rad."""
        last: FloatArray = self.positions[-1]
        return last

    def sample(self, t: float) -> JointSample:
        """State at `t` s after the start; before the start the first point, after the end the last, at rest."""
        if t <= self.times[0]:
            return JointSample(self.positions[0], self.velocities[0], self.accelerations[0])
        if t >= self.times[-1]:
            rest = np.zeros(len(self.names))
            return JointSample(self.positions[-1], rest, rest)
        i = int(np.searchsorted(self.times, t, side="right")) - 1
        return self._between(i, t - self.times[i])

    def _between(self, i: int, dt: float) -> JointSample:
        h = self.times[i + 1] - self.times[i]
        p0, p1 = self.positions[i], self.positions[i + 1]
        v0, v1 = self.velocities[i], self.velocities[i + 1]
        a0, a1 = self.accelerations[i], self.accelerations[i + 1]
        # Quintic Hermite coefficients (R. L. Andersson, "Aggressive trajectory generator", 1989).
        c3 = (20 * (p1 - p0) - (8 * v1 + 12 * v0) * h - (3 * a0 - a1) * h**2) / (2 * h**3)
        c4 = (30 * (p0 - p1) + (14 * v1 + 16 * v0) * h + (3 * a0 - 2 * a1) * h**2) / (2 * h**4)
        c5 = (12 * (p1 - p0) - 6 * (v1 + v0) * h - (a0 - a1) * h**2) / (2 * h**5)
        position = p0 + v0 * dt + a0 / 2 * dt**2 + c3 * dt**3 + c4 * dt**4 + c5 * dt**5
        velocity = v0 + a0 * dt + 3 * c3 * dt**2 + 4 * c4 * dt**3 + 5 * c5 * dt**4
        acceleration = a0 + 6 * c3 * dt + 12 * c4 * dt**2 + 20 * c5 * dt**3
        return JointSample(position, velocity, acceleration)
