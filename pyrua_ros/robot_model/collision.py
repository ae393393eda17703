"""Where the robot touches itself, the table, or a keep-out box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyrua_ros.robot_model.model import RobotModel, kinematic_urdf
from pyrua_ros.robot_model.profile import Box

FloatArray = NDArray[np.float64]

#: Fingers may touch a box this deep: grasping on the table would be impossible otherwise.
FINGER_TOUCH_M = 0.001


@dataclass(frozen=True)
class Contact:
    """Two bodies that overlap."""

    first: str  # a robot link
    second: str  # a link nearer to the base, or the name of a box
    depth_m: float
    index: int = 0  # of the configuration, when a path was checked

    def __str__(self) -> str:
        """Name both, with the depth."""
        return f"{self.first} with {self.second} ({self.depth_m * 1000:.0f} mm deep)"

    @property
    def pair(self) -> tuple[str, str]:
        """The two names."""
        return self.first, self.second


class CollisionChecker:
    """Collision test on convex hulls of the robot's collision shapes.

    Owns one MuJoCo state that every call overwrites: use one instance per thread. Links that a joint
    connects, and the two fingers, are never reported against each other.

    Parameters
    ----------
    model : the robot.
    boxes : keep-out boxes by name, base frame; by default the profile's table.
    """

    def __init__(self, model: RobotModel, boxes: Mapping[str, Box] | None = None) -> None:
        self.profile = model.profile
        if boxes is None:
            boxes = {"table": self.profile.table} if self.profile.table else {}
        self._mj: Any = self._compile(boxes)
        self._data: Any = mujoco.MjData(self._mj)
        joint = {name: self._mj.jnt_qposadr[self._mj.joint(name).id] for name in self._joint_names()}
        self._arm = np.array([joint[name] for name in self.profile.arm.joints])
        self._fingers = np.array([joint[name] for name in self.profile.gripper.joints])
        self._names = [self._owner(geom) for geom in range(self._mj.ngeom)]
        self._box_names = set(boxes)
        links = {self._mj.jnt_bodyid[self._mj.joint(name).id] for name in self.profile.gripper.joints}
        self._finger_links = {self._mj.body(int(body)).name for body in links}

    def _joint_names(self) -> Sequence[str]:
        return (*self.profile.arm.joints, *self.profile.gripper.joints)

    def _compile(self, boxes: Mapping[str, Box]) -> Any:
        spec: Any = mujoco.MjSpec.from_string(kinematic_urdf(self.profile, collision=True))
        for name, box in boxes.items():
            lower, upper = np.array(box.lower), np.array(box.upper)
            spec.worldbody.add_geom(
                name=name, type=mujoco.mjtGeom.mjGEOM_BOX, pos=(lower + upper) / 2, size=(upper - lower) / 2
            )
        # MuJoCo leaves out parent and child, except where the parent stands still in the world.
        first_link = spec.joint(self.profile.arm.joints[0]).parent.name
        spec.add_exclude(bodyname1=self.profile.arm.base_link, bodyname2=first_link)
        fingers = [spec.joint(name).parent.name for name in self.profile.gripper.joints]
        if len(fingers) == 2:
            spec.add_exclude(bodyname1=fingers[0], bodyname2=fingers[1])
        return spec.compile()

    def _owner(self, geom: int) -> str:
        body = int(self._mj.geom_bodyid[geom])
        return str(self._mj.geom(geom).name if body == 0 else self._mj.body(body).name)

    def contacts(self, q: ArrayLike, width: float | None = None) -> list[Contact]:
        """All contacts at joint positions `q` ``[joints]``, one per pair of bodies, the deepest first.

        Parameters
        ----------
        width : opening of the gripper, m; fully open by default.
        """
        width = self.profile.gripper.max_width if width is None else width
        self._data.qpos[self._arm] = q
        self._data.qpos[self._fingers] = width / len(self._fingers)
        mujoco.mj_kinematics(self._mj, self._data)
        mujoco.mj_collision(self._mj, self._data)
        if self._data.ncon == 0:
            return []
        deepest: dict[tuple[str, str], float] = {}
        pairs, distances = self._data.contact.geom, self._data.contact.dist
        for (geom_a, geom_b), distance in zip(pairs.tolist(), distances.tolist(), strict=True):
            first, second = self._names[geom_a], self._names[geom_b]
            if self._mj.geom_bodyid[geom_a] < self._mj.geom_bodyid[geom_b]:  # a box, or nearer to the base
                first, second = second, first
            allowed = FINGER_TOUCH_M if first in self._finger_links and second in self._box_names else 0.0
            if -distance > allowed:
                deepest[first, second] = max(deepest.get((first, second), 0.0), -distance)
        found = [Contact(first, second, depth) for (first, second), depth in deepest.items()]
        return sorted(found, key=lambda contact: -contact.depth_m)

    def check(self, q: ArrayLike, width: float | None = None) -> Contact | None:
        """Return the deepest contact at `q`, or None."""
        found = self.contacts(q, width)
        return found[0] if found else None

    def check_path(
        self,
        qs: ArrayLike,
        width: float | None = None,
        tolerated: Mapping[tuple[str, str], float] | None = None,
    ) -> Contact | None:
        """Return the first pair of bodies that touch along `qs` ``[points, joints]``, or None.

        Its `index` says where the touch begins, its depth how deep it gets.

        Parameters
        ----------
        tolerated : pairs that already touch, with the depth (m) that is still all right.
        """
        tolerated = tolerated or {}
        first: Contact | None = None
        for index, q in enumerate(np.asarray(qs, dtype=float)):
            touching = {contact.pair: contact for contact in self.contacts(q, width)}
            if first is None:
                bad = [c for c in touching.values() if c.depth_m > tolerated.get(c.pair, 0.0)]
                first = replace(bad[0], index=index) if bad else None
            elif first.pair in touching:
                first = replace(first, depth_m=max(first.depth_m, touching[first.pair].depth_m))
            else:
                break
        return first


def fill(waypoints: ArrayLike, step_rad: float) -> FloatArray:
    """Straight joint segments between `waypoints` ``[points, joints]``, no joint moving more than `step_rad` a row."""
    points = np.asarray(waypoints, dtype=float)
    rows = [points[:1]]
    for start, end in pairwise(points):
        count = max(1, int(np.ceil(np.abs(end - start).max() / step_rad)))
        rows.append(start + np.linspace(0, 1, count + 1)[1:, None] * (end - start))
    return np.vstack(rows)
