"""Whether a scene's task is done, read from the simulator's state; for scoring only."""

from __future__ import annotations

import mujoco
import numpy as np

from pyrua_ros.backends.mujoco.model import SCENE_PREFIX
from pyrua_ros.backends.mujoco.scenes import AtRest, Inside, Predicate
from pyrua_ros.backends.mujoco.world import World

_REST_M_S = 0.01
_REST_RAD_S = 0.1


def score(world: World) -> tuple[bool, dict[str, bool]]:
    """(all hold, each predicate's own answer)."""
    mujoco.mj_forward(world.model, world.data)
    detail = {_name(predicate): holds(world, predicate) for predicate in world.scene.success}
    return all(detail.values()), detail


def holds(world: World, predicate: Predicate) -> bool:
    """Whether one predicate is true in the present state."""
    body = world.model.body(f"{SCENE_PREFIX}{predicate.object}").id
    if isinstance(predicate, Inside):
        return _inside(world, body, predicate.container)
    if isinstance(predicate, AtRest):
        return _at_rest(world, body)
    return not _touches_hand(world, body)


def _name(predicate: Predicate) -> str:
    if isinstance(predicate, Inside):
        return f"inside({predicate.object}, {predicate.container})"
    return f"{predicate.predicate}({predicate.object})"


def _inside(world: World, body: int, container: str) -> bool:
    site = world.data.site(f"{SCENE_PREFIX}{container}")
    local = site.xmat.reshape(3, 3).T @ (world.data.xpos[body] - site.xpos)
    size = world.model.site(site.id).size
    if world.model.site_type[site.id] == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return bool(np.hypot(local[0], local[1]) <= size[0] and abs(local[2]) <= size[1])
    return bool(np.all(np.abs(local) <= size))


def _at_rest(world: World, body: int) -> bool:
    start = world.model.joint(world.model.body_jntadr[body]).dofadr[0]
    velocity = world.data.qvel[start : start + 6]
    return bool(np.linalg.norm(velocity[:3]) < _REST_M_S and np.linalg.norm(velocity[3:]) < _REST_RAD_S)


def _touches_hand(world: World, body: int) -> bool:
    bodies = world.model.geom_bodyid[world.data.contact.geom]
    others = bodies[np.any(bodies == body, axis=1)].ravel()
    return any(int(other) in world.hand_bodies for other in others)
