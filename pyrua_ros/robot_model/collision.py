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
from pyrua_ros.robot_model.rotations import axis_angle_to_quat
from pyrua_ros.robot_model.scene import Scene

FloatArray = NDArray[np.float64]

#: Fingers may touch a box this deep: grasping on the table would be impossible otherwise.
FINGER_TOUCH_M = 0.001

#: What is held may touch a box this deep: its size is a guess, and it must be put down.
HELD_TOUCH_M = 0.01

#: The name of what is held, in contacts.
HELD = "held object"

_SLOTS = 16  # places for obstacles; more are made when a scene needs them
_EMPTY = Scene()
_SLOT = "obstacle "


@dataclass(frozen=True)
class Contact:
    """Two bodies that overlap."""

    first: str  # a robot link
    second: str  # a link nearer to the base, or the name of a box
    depth_m: float  # negative: the distance, when a margin was asked for
    index: int = 0  # of the configuration, when a path was checked

    def __str__(self) -> str:
        """Name both, with the depth, or the distance of two that only come close."""
        if self.depth_m < 0:
            return f"{self.first} with {self.second} ({-self.depth_m * 1000:.0f} mm apart)"
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
        self._boxes = dict(boxes)
        self._scene = _EMPTY
        self._build(_SLOTS)

    def _build(self, slots: int) -> None:
        """Compile the model with room for that many obstacles."""
        self._mj: Any = self._compile(slots)
        self._data: Any = mujoco.MjData(self._mj)
        joint = {name: self._mj.jnt_qposadr[self._mj.joint(name).id] for name in self._joint_names()}
        self._arm = np.array([joint[name] for name in self.profile.arm.joints])
        self._fingers = np.array([joint[name] for name in self.profile.gripper.joints])
        self._names = [self._owner(geom) for geom in range(self._mj.ngeom)]
        links = {self._mj.jnt_bodyid[self._mj.joint(name).id] for name in self.profile.gripper.joints}
        self._finger_links = {self._mj.body(int(body)).name for body in links}
        self._eef = self._data.xpos[self._mj.body(self.profile.arm.eef_link).id]
        self._qpos = self._data.qpos
        self._width = -1.0
        self._margin_m = 0.0
        self._fixed = np.flatnonzero(self._mj.geom_bodyid == 0)
        self._slots = [self._mj.geom(f"{_SLOT}{i}").id for i in range(slots)]
        self._held = self._mj.geom(HELD).id
        # Obstacles move after compilation; trees of boxes made there would be stale.
        self._mj.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
        self._scene = _EMPTY
        for geom in (*self._slots, self._held):
            self._switch(geom, on=False)

    def _joint_names(self) -> Sequence[str]:
        return (*self.profile.arm.joints, *self.profile.gripper.joints)

    def _compile(self, slots: int) -> Any:
        spec: Any = mujoco.MjSpec.from_string(kinematic_urdf(self.profile, collision=True))
        for name, box in self._boxes.items():
            lower, upper = np.array(box.lower), np.array(box.upper)
            spec.worldbody.add_geom(
                name=name, type=mujoco.mjtGeom.mjGEOM_BOX, pos=(lower + upper) / 2, size=(upper - lower) / 2
            )
        for index in range(slots):
            spec.worldbody.add_geom(
                name=f"{_SLOT}{index}", type=mujoco.mjtGeom.mjGEOM_BOX, size=[1.0, 1.0, 1.0]
            )
        spec.body(self.profile.arm.eef_link).add_geom(
            name=HELD, type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.1, 0.1, 0.1]
        )
        # MuJoCo leaves out parent and child, except where the parent stands still in the world.
        first_link = spec.joint(self.profile.arm.joints[0]).parent.name
        spec.add_exclude(bodyname1=self.profile.arm.base_link, bodyname2=first_link)
        fingers = [spec.joint(name).parent.name for name in self.profile.gripper.joints]
        if len(fingers) == 2:
            spec.add_exclude(bodyname1=fingers[0], bodyname2=fingers[1])
        for finger in fingers:
            spec.add_exclude(bodyname1=finger, bodyname2=self.profile.arm.eef_link)
        return spec.compile()

    def _owner(self, geom: int) -> str:
        body = int(self._mj.geom_bodyid[geom])
        name = str(self._mj.geom(geom).name)
        return name if body == 0 or name == HELD else str(self._mj.body(body).name)

    def _switch(self, geom: int, *, on: bool) -> None:
        self._mj.geom_contype[geom] = self._mj.geom_conaffinity[geom] = int(on)

    def _shape(self, geom: int, xyz: ArrayLike, size: ArrayLike, yaw: float = 0.0) -> None:
        half = np.asarray(size, dtype=float) / 2
        x, y, z, w = axis_angle_to_quat([0, 0, 1], yaw)
        self._mj.geom_pos[geom], self._mj.geom_quat[geom] = xyz, (w, x, y, z)
        self._mj.geom_sameframe[geom] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE
        self._mj.geom_size[geom] = half
        self._mj.geom_rbound[geom] = np.linalg.norm(half)
        self._mj.geom_aabb[geom] = (0, 0, 0, *half)
        self._switch(geom, on=True)

    def set_scene(self, scene: Scene | None) -> None:
        """From now on respect the obstacles of `scene` and what the robot holds; None: neither."""
        scene = scene or _EMPTY
        if scene is self._scene or scene == self._scene:
            return
        if len(scene.obstacles) > len(self._slots):
            self._build(2 * len(scene.obstacles))
        self._scene = scene
        for index, geom in enumerate(self._slots):
            if index >= len(scene.obstacles):
                self._switch(geom, on=False)
                continue
            obstacle = scene.obstacles[index]
            self._names[geom] = obstacle.name
            self._shape(geom, obstacle.xyz, obstacle.size, obstacle.yaw)
        self._switch(self._held, on=False)
        if scene.held is not None:
            self._shape(self._held, scene.held.xyz_in_eef, scene.held.size)

    @property
    def eef_position(self) -> FloatArray:
        """Position ``[3]`` m of the end effector at the joint positions that were looked at last."""
        position: FloatArray = self._eef.copy()
        return position

    def _touch(self, q: ArrayLike, width: float | None, margin_m: float) -> int:
        """Bring MuJoCo's contacts up to date; returns how many there are."""
        if width is None:
            width = self._scene.gripper_width
        if width is None:
            width = self.profile.gripper.max_width
        self._qpos[self._arm] = q
        if width != self._width:
            self._qpos[self._fingers] = width / len(self._fingers)
            self._width = width
        if margin_m != self._margin_m:
            self._mj.geom_margin[self._fixed] = self._margin_m = margin_m
        mujoco.mj_kinematics(self._mj, self._data)
        mujoco.mj_collision(self._mj, self._data)
        return int(self._data.ncon)

    def contacts(self, q: ArrayLike, width: float | None = None, margin_m: float = 0.0) -> list[Contact]:
        """All contacts at joint positions `q` ``[joints]``, one per pair of bodies, the deepest first.

        Parameters
        ----------
        width : opening of the gripper, m; by default the scene's, or fully open.
        margin_m : also report what comes closer than this to a box (not to another link).
        """
        return self._found(margin_m) if self._touch(q, width, margin_m) else []

    def _found(self, margin_m: float) -> list[Contact]:
        deepest: dict[tuple[str, str], float] = {}
        pairs, distances = self._data.contact.geom, self._data.contact.dist
        for (geom_a, geom_b), distance in zip(pairs.tolist(), distances.tolist(), strict=True):
            first, second = self._names[geom_a], self._names[geom_b]
            if self._mj.geom_bodyid[geom_a] < self._mj.geom_bodyid[geom_b]:  # a box, or nearer to the base
                first, second = second, first
            boxed = self._mj.geom_bodyid[geom_a] == 0 or self._mj.geom_bodyid[geom_b] == 0
            allowed = 0.0
            if boxed and not margin_m:
                allowed = HELD_TOUCH_M if first == HELD else FINGER_TOUCH_M * (first in self._finger_links)
            if -distance > allowed - margin_m * boxed:
                deepest[first, second] = max(deepest.get((first, second), -np.inf), -distance)
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
        margin_m: float = 0.0,
    ) -> Contact | None:
        """Return the first pair of bodies that touch along `qs` ``[points, joints]``, or None.

        Its `index` says where the touch begins, its depth how deep it gets.

        Parameters
        ----------
        tolerated : pairs that already touch, with the depth (m) that is still all right.
        margin_m : also report what comes closer than this to a box.
        """
        tolerated = tolerated or {}
        first: Contact | None = None
        for index, q in enumerate(np.asarray(qs, dtype=float)):
            touching = {contact.pair: contact for contact in self.contacts(q, width, margin_m)}
            if first is None:
                bad = [c for c in touching.values() if c.depth_m > tolerated.get(c.pair, -np.inf)]
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
