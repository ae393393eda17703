"""Where the objects of a scene stand, drawn by seed: apart from each other, each with a random yaw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyrua_ros.backends.mujoco.scenes import Scene

_TRIES_PER_OBJECT = 200
_RESTARTS = 200


@dataclass(frozen=True)
class Place:
    """Pose of an upright object: its origin in the base frame, m, and its yaw, rad."""

    x: float
    y: float
    z: float
    yaw: float


def draw(scene: Scene, seed: int) -> dict[str, Place]:
    """Poses of all objects; the same seed gives the same layout.

    The whole circle of an object stays inside its region. Raises `ValueError` when they do not fit.
    """
    rng = np.random.default_rng(seed)
    for _ in range(_RESTARTS):
        places = _try(scene, rng)
        if places is not None:
            return places
    raise ValueError(
        f"the objects of scene '{scene.name}' do not fit its region; enlarge it or reduce the gap"
    )


def _try(scene: Scene, rng: np.random.Generator) -> dict[str, Place] | None:
    places: dict[str, Place] = {}
    for name, item in scene.objects.items():
        region = item.region or scene.region
        lower = np.array(region.lower) + item.radius
        upper = np.array(region.upper) - item.radius
        if np.any(upper < lower):
            raise ValueError(f"object '{name}' of scene '{scene.name}' is larger than its region")
        for _ in range(_TRIES_PER_OBJECT):
            x, y = rng.uniform(lower, upper)
            if all(
                np.hypot(x - place.x, y - place.y) >= item.radius + scene.objects[other].radius + scene.gap
                for other, place in places.items()
            ):
                places[name] = Place(float(x), float(y), item.height, float(rng.uniform(-np.pi, np.pi)))
                break
        else:
            return None
    return places
