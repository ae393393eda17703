"""Where the objects of a scene stand, drawn by seed: apart from each other, each with a random yaw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyrua_ros.backends.mujoco.scene_types import Lane, Scene, SceneObject

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
    rng = np.random.default_rng([seed, scene.salt] if scene.salt else seed)
    for _ in range(_RESTARTS):
        places = _try(scene, rng)
        if places is not None:
            return places
    raise ValueError(
        f"the objects of scene '{scene.name}' do not fit its region; enlarge it or reduce the gap"
    )


def _try(scene: Scene, rng: np.random.Generator) -> dict[str, Place] | None:
    places: dict[str, Place] = {}
    taken: list[_Circle] = []
    for name, item in scene.objects.items():
        for _ in range(_TRIES_PER_OBJECT):
            place = _propose(scene, name, rng, taken)
            if place is None:
                continue
            places[name] = place
            taken += [_Circle(place.x, place.y, item.radius), *_clear(item, place)]
            break
        else:
            return None
    return places if all(_is_free(scene, lane, places) for lane in scene.lanes) else None


@dataclass(frozen=True)
class _Circle:
    x: float
    y: float
    radius: float


def _propose(scene: Scene, name: str, rng: np.random.Generator, taken: list[_Circle]) -> Place | None:
    item = scene.objects[name]
    facing = item.facing[0] if len(item.facing) == 1 else item.facing[rng.integers(len(item.facing))]
    region = facing.region or item.region or scene.region
    lower = np.array(region.lower) + item.radius
    upper = np.array(region.upper) - item.radius
    if np.any(upper < lower):
        raise ValueError(f"object '{name}' of scene '{scene.name}' is larger than its region")
    x, y = rng.uniform(lower, upper)
    if not _apart(_Circle(x, y, item.radius), taken, scene.gap):
        return None
    place = Place(float(x), float(y), item.height, float(rng.uniform(*facing.yaw)))
    return place if all(_apart(circle, taken, scene.gap) for circle in _clear(item, place)) else None


def _apart(circle: _Circle, taken: list[_Circle], gap: float) -> bool:
    return all(
        np.hypot(circle.x - other.x, circle.y - other.y) >= circle.radius + other.radius + gap
        for other in taken
    )


def _clear(item: SceneObject, place: Place) -> list[_Circle]:
    cos, sin = np.cos(place.yaw), np.sin(place.yaw)
    return [
        _Circle(float(place.x + cos * x - sin * y), float(place.y + sin * x + cos * y), radius)
        for x, y, radius in item.clear
    ]


def _is_free(scene: Scene, lane: Lane, places: dict[str, Place]) -> bool:
    start, end = (np.array([places[name].x, places[name].y]) for name in (lane.start, lane.end))
    length = float(np.linalg.norm(end - start))
    if not lane.length[0] <= length <= lane.length[1]:
        return False
    start = start - (end - start) / length * lane.behind
    for name, place in places.items():
        if name in (lane.start, lane.end):
            continue
        along = np.clip(
            (np.array([place.x, place.y]) - start) @ (end - start) / ((end - start) @ (end - start)), 0, 1
        )
        nearest = start + along * (end - start)
        if np.hypot(*(nearest - [place.x, place.y])) < lane.width / 2 + scene.objects[name].radius:
            return False
    return True
