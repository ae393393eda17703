"""Forward kinematics and Jacobian of a robot, from its own URDF, on MuJoCo."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyrua_ros.robot_model import assets
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.rotations import matrix_to_quat

FloatArray = NDArray[np.float64]


def kinematic_urdf(profile: RobotProfile, *, collision: bool) -> str:
    """Write the URDF that MuJoCo compiles: no visual shapes, links kept apart, meshes only with `collision`."""
    root = ElementTree.fromstring(assets.urdf_text(profile, resolve=False))
    for link in root.iter("link"):
        for visual in link.findall("visual"):
            link.remove(visual)
        if not collision:
            for shape in link.findall("collision"):
                link.remove(shape)
    for mesh in root.iter("mesh"):
        mesh.set("filename", str(assets.mesh_file(mesh.get("filename", ""))))
    options = ElementTree.SubElement(root, "mujoco")
    ElementTree.SubElement(options, "compiler", fusestatic="false", strippath="false", balanceinertia="true")
    return ElementTree.tostring(root, encoding="unicode")


class RobotModel:
    """The arm's kinematics in the base frame.

    Owns one MuJoCo state that every call overwrites: use one instance per thread. Loads no meshes.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self.profile = profile
        self.mj: Any = mujoco.MjModel.from_xml_string(kinematic_urdf(profile, collision=False))
        self._data: Any = mujoco.MjData(self.mj)
        self._qpos = self._joint_addresses(profile.arm.joints)
        self._dofs = np.array([self.mj.jnt_dofadr[self.mj.joint(name).id] for name in profile.arm.joints])
        self._eef = self._body(profile.arm.eef_link)
        self._jacobian = np.zeros((6, self.mj.nv))
        self._jacobian_rows = (self._jacobian[:3], self._jacobian[3:])
        self._eef_position = self._data.xpos[self._eef]
        self._eef_matrix = self._data.xmat[self._eef].reshape(3, 3)
        base = self.link_pose(profile.arm.home, profile.arm.base_link)
        if not np.allclose(base, np.eye(4), atol=1e-9):
            raise ValueError(f"{profile.urdf}: '{profile.arm.base_link}' must coincide with the root frame")

    def _joint_addresses(self, names: tuple[str, ...]) -> NDArray[np.int64]:
        return np.array([self.mj.jnt_qposadr[self.mj.joint(name).id] for name in names], dtype=np.int64)

    @property
    def links(self) -> tuple[str, ...]:
        """Names of all links."""
        return tuple(self.mj.body(i).name for i in range(1, self.mj.nbody))

    def _body(self, link: str) -> int:
        body = int(mujoco.mj_name2id(self.mj, mujoco.mjtObj.mjOBJ_BODY, link))
        if body < 0:
            raise ValueError(
                f"robot '{self.profile.name}' has no link '{link}'; there are: {', '.join(self.links)}"
            )
        return body

    def _move(self, q: ArrayLike) -> None:
        self._data.qpos[self._qpos] = q
        mujoco.mj_kinematics(self.mj, self._data)

    def link_pose(self, q: ArrayLike, link: str) -> FloatArray:
        """Transform ``[4, 4]`` from `link` to the base frame at joint positions `q` ``[joints]``."""
        self._move(q)
        body = self._body(link)
        pose = np.eye(4)
        pose[:3, :3] = self._data.xmat[body].reshape(3, 3)
        pose[:3, 3] = self._data.xpos[body]
        return pose

    def fk(self, q: ArrayLike, link: str | None = None) -> tuple[FloatArray, FloatArray]:
        """Position ``[3]`` m and xyzw quaternion of `link` (default: the end effector) in the base frame."""
        pose = self.link_pose(q, link or self.profile.arm.eef_link)
        return pose[:3, 3].copy(), matrix_to_quat(pose[:3, :3])

    def eef_positions(self, qs: ArrayLike) -> FloatArray:
        """Positions ``[points, 3]`` m of the end effector along joint positions `qs` ``[points, joints]``."""
        rows = np.asarray(qs, dtype=float)
        positions = np.empty((len(rows), 3))
        for row, q in enumerate(rows):
            self._move(q)
            positions[row] = self._eef_position
        return positions

    def jacobian(self, q: ArrayLike) -> FloatArray:
        """Geometric Jacobian ``[6, joints]`` of the end effector: linear rows, then angular, base frame."""
        return self.eef_and_jacobian(q)[2]

    def eef_and_jacobian(self, q: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """End effector's position ``[3]``, rotation matrix ``[3, 3]`` and Jacobian ``[6, joints]`` in one pass."""
        self._move(q)
        mujoco.mj_comPos(self.mj, self._data)
        mujoco.mj_jacBody(self.mj, self._data, *self._jacobian_rows, self._eef)
        return self._eef_position.copy(), self._eef_matrix.copy(), self._jacobian[:, self._dofs]
