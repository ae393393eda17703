"""The objects of a scene as MuJoCo bodies: named and painted copies of the kinds that its MJCF defines."""

from __future__ import annotations

import copy
from xml.etree import ElementTree

import mujoco

from pyrua_ros.backends.mujoco.scene_types import Scene

_PAINT = "paint"


def scene_spec(scene: Scene) -> mujoco.MjSpec:
    """Return the bodies of all objects, at the origin."""
    if all(item.kind is None for item in scene.objects.values()):
        return mujoco.MjSpec.from_file(str(scene.mjcf))
    root = ElementTree.parse(scene.mjcf).getroot()
    world = root.find("worldbody")
    if world is None:
        raise ValueError(f"{scene.mjcf}: it has no worldbody")
    kinds = {body.get("name"): body for body in world.findall("body")}
    for body in kinds.values():
        world.remove(body)
    for name, item in scene.objects.items():
        kind = item.kind or name
        if kind not in kinds:
            raise ValueError(f"{scene.mjcf}: it has no body '{kind}'")
        world.append(_copy(kinds[kind], kind, name, item.rgb))
    return mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))


def _copy(
    body: ElementTree.Element, kind: str, name: str, rgb: tuple[float, float, float] | None
) -> ElementTree.Element:
    body = copy.deepcopy(body)
    for element in body.iter():
        own = element.get("name", "")
        if own == kind or own.startswith(f"{kind}/"):
            element.set("name", name + own[len(kind) :])
        if element.get("material") == _PAINT and rgb is not None:
            del element.attrib["material"]
            element.set("rgba", " ".join(f"{value:g}" for value in (*rgb, 1.0)))
    return body
