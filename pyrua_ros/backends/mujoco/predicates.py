"""Whether a scene's task is done, read from the simulator's state; for scoring only."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from pyrua_ros.backends.mujoco import scene_types as types
from pyrua_ros.backends.mujoco.model import SCENE_PREFIX
from pyrua_ros.backends.mujoco.world import World

_REST_M_S = 0.01
_REST_RAD_S = 0.1
_HEIGHT_M = 0.006
_UPRIGHT = 0.98
_WORLD = 0  # the body that the table belongs to


def score(world: World) -> tuple[bool, dict[str, bool]]:
    """(all hold, each predicate's own answer)."""
    mujoco.mj_forward(world.model, world.data)
    detail = {_name(predicate): holds(world, predicate) for predicate in world.scene.success}
    return all(detail.values()), detail


def holds(world: World, predicate: types.Predicate) -> bool:
    """Whether one predicate is true in the present state."""
    name = predicate.object
    match predicate:
        case types.Inside():
            return _inside(world, name, predicate.container)
        case types.AtRest():
            return _at_rest(world, name)
        case types.Released():
            return not _touching(world, name) & world.hand_bodies
        case types.Held():
            lifted = _position(world, name)[2] - world.watch.start(name)[2] >= predicate.lift
            return bool(lifted and world.finger_bodies <= _touching(world, name) <= world.hand_bodies)
        case types.Stacked():
            return _stacked(world, name, predicate.base)
        case types.RestsOn():
            return _rests_on(world, name, predicate.base)
        case types.InPlaceOf():
            offset = _position(world, name)[:2] - world.watch.start(predicate.other)[:2]
            return bool(np.hypot(*offset) <= predicate.within and _on_table(world, name))
        case types.InZone():
            local = _rotation(world, predicate.zone).T @ (
                _position(world, name) - _position(world, predicate.zone)
            )
            within = np.abs(local[:2]) <= world.scene.objects[predicate.zone].half_size
            return bool(np.all(within) and _on_table(world, name))
        case types.NotLifted():
            return world.watch.highest_lift(name) <= predicate.within
        case types.Opened():
            return world.watch.slide(world.data, name) >= predicate.share
        case types.Pressed():
            return world.watch.farthest_slide(name) >= predicate.share


def _name(predicate: types.Predicate) -> str:
    values = predicate.model_dump()
    named = [values[key] for key in ("object", "container", "base", "other", "zone") if key in values]
    return f"{predicate.predicate}({', '.join(named)})"


def _body(world: World, name: str) -> int:
    return int(world.model.body(f"{SCENE_PREFIX}{name}").id)


def _position(world: World, name: str) -> NDArray[np.float64]:
    return np.array(world.data.xpos[_body(world, name)])


def _rotation(world: World, name: str) -> NDArray[np.float64]:
    return np.array(world.data.xmat[_body(world, name)]).reshape(3, 3)


def _inside(world: World, name: str, container: str) -> bool:
    site = world.data.site(f"{SCENE_PREFIX}{container}")
    local = site.xmat.reshape(3, 3).T @ (_position(world, name) - site.xpos)
    size = world.model.site(site.id).size
    if world.model.site_type[site.id] == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return bool(np.hypot(local[0], local[1]) <= size[0] and abs(local[2]) <= size[1])
    return bool(np.all(np.abs(local) <= size))


def _stacked(world: World, name: str, base: str) -> bool:
    """Both stand on a face; a cube may stand on any of its six."""
    upper, lower = world.scene.objects[name], world.scene.objects[base]
    offset = _position(world, name) - _position(world, base)
    return bool(
        np.hypot(offset[0], offset[1]) <= lower.support
        and abs(offset[2] - (lower.top + upper.height)) <= _HEIGHT_M
        and np.max(np.abs(_rotation(world, name)[2])) >= _UPRIGHT
        and np.max(np.abs(_rotation(world, base)[2])) >= _UPRIGHT
        and _body(world, base) in _touching(world, name)
    )


def _rests_on(world: World, name: str, base: str) -> bool:
    item = world.scene.objects[base]
    offset = _position(world, name) - _position(world, base)
    touching = _touching(world, name)
    return bool(
        np.hypot(offset[0], offset[1]) <= item.support
        and offset[2] > item.top
        and _body(world, base) in touching
        and not touching & {_WORLD, *world.hand_bodies}
    )


def _at_rest(world: World, name: str) -> bool:
    start = world.model.joint(world.model.body_jntadr[_body(world, name)]).dofadr[0]
    velocity = world.data.qvel[start : start + 6]
    return bool(np.linalg.norm(velocity[:3]) < _REST_M_S and np.linalg.norm(velocity[3:]) < _REST_RAD_S)


def _on_table(world: World, name: str) -> bool:
    return _WORLD in _touching(world, name)


def _touching(world: World, name: str) -> set[int]:
    """Ids of the bodies that an object touches; the table belongs to the world, body 0."""
    body = _body(world, name)
    bodies = world.model.geom_bodyid[world.data.contact.geom]
    return set(bodies[np.any(bodies == body, axis=1)].ravel().tolist()) - {body}
