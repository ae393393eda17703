"""The robot's kinematics, shared by the nodes of this process: end effector, camera poses, own bodies."""

from __future__ import annotations

import threading
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from pyrua_ros.perception.segmenter import SolidBox
from pyrua_ros.robot_model.model import RobotModel, kinematic_urdf
from pyrua_ros.robot_model.profile import RobotProfile

FloatArray = NDArray[np.float64]


class Body:
    """Models behind one lock, because a model belongs to one thread at a time."""

    def __init__(self, profile: RobotProfile) -> None:
        self._model = RobotModel(profile)
        self._shapes: Any = mujoco.MjModel.from_xml_string(kinematic_urdf(profile, collision=True))
        self._data: Any = mujoco.MjData(self._shapes)
        self._qpos = [
            int(self._shapes.joint(name).qposadr[0])
            for name in (*profile.arm.joints, *profile.gripper.joints)
        ]
        self._lock = threading.Lock()

    def eef(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Position ``[3]`` m and xyzw quaternion of the end effector."""
        with self._lock:
            return self._model.fk(q)

    def link_pose(self, q: FloatArray, link: str) -> FloatArray:
        """``[4, 4]`` of a link in the base frame."""
        with self._lock:
            return self._model.link_pose(q, link)

    def solids(self, q: FloatArray, fingers: FloatArray) -> tuple[SolidBox, ...]:
        """Return a box round each of the robot's collision shapes at the given joints."""
        boxes = []
        with self._lock:
            self._data.qpos[self._qpos] = [*q, *fingers]
            mujoco.mj_kinematics(self._shapes, self._data)
            for geom in range(self._shapes.ngeom):
                centre, half = np.split(self._shapes.geom_aabb[geom], 2)
                pose = np.eye(4)
                pose[:3, :3] = self._data.geom_xmat[geom].reshape(3, 3)
                pose[:3, 3] = self._data.geom_xpos[geom] + pose[:3, :3] @ centre
                boxes.append(SolidBox(pose, half.copy()))
        return tuple(boxes)
