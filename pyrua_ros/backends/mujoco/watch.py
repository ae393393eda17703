"""What happened to a scene's objects since the start: where they stood, how high they were, how far they slid."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from pyrua_ros.backends.mujoco.scene_types import Scene

FloatArray = NDArray[np.float64]


class Watch:
    """Follows the objects; `update` after each control step."""

    def __init__(self, model: mujoco.MjModel, scene: Scene, prefix: str) -> None:
        self._index = {name: i for i, name in enumerate(scene.objects)}
        self._bodies = np.array([model.body(f"{prefix}{name}").id for name in scene.objects])
        joints = [model.joint(i) for i in range(model.njnt)]
        names = {f"{prefix}{name}/slide": name for name in scene.objects}
        found = {names[joint.name]: joint for joint in joints if joint.name in names}
        self._slide = {name: i for i, name in enumerate(found)}
        self._qpos = np.array([joint.qposadr[0] for joint in found.values()], dtype=int)
        self._travel = np.array([joint.range[1] for joint in found.values()], dtype=float)

    def reset(self, data: mujoco.MjData) -> None:
        """Begin with the present state."""
        self._start = data.xpos[self._bodies].copy()
        self._highest = self._start[:, 2].copy()
        self._farthest = data.qpos[self._qpos].copy()

    def update(self, data: mujoco.MjData) -> None:
        """Take note of the present state."""
        np.maximum(self._highest, data.xpos[self._bodies, 2], out=self._highest)
        np.maximum(self._farthest, data.qpos[self._qpos], out=self._farthest)

    def start(self, name: str) -> FloatArray:
        """Position at the start, m."""
        position: FloatArray = self._start[self._index[name]]
        return position

    def highest_lift(self, name: str) -> float:
        """Return how far above its start the object has been, m."""
        index = self._index[name]
        return float(self._highest[index] - self._start[index, 2])

    def slide(self, data: mujoco.MjData, name: str) -> float:
        """Present share of its slide's travel, 0..1; an object without a slide is a `KeyError`."""
        index = self._slide[name]
        return float(data.qpos[self._qpos[index]] / self._travel[index])

    def farthest_slide(self, name: str) -> float:
        """Largest share of its slide's travel so far, 0..1."""
        index = self._slide[name]
        return float(self._farthest[index] / self._travel[index])
