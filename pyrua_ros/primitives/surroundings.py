"""What motions of this process must respect: obstacles that a cell added, and what the fingers hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.primitives.body import Body
from pyrua_ros.primitives.joints import Joints
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.rotations import quat_to_matrix
from pyrua_ros.robot_model.scene import HeldBox, Obstacle, Scene, points_as_obstacles

FloatArray = NDArray[np.float64]

#: Points this close to the robot's own shapes are the robot.
OWN_M = 0.03
#: Points below this height over the table are the table.
TABLE_M = 0.015
#: What is held is taken to be at least this thick, and to reach this far beyond the fingertips at most.
THICKNESS_M = 0.02
REACH_M = 0.06
#: The held box ends this far above the table that the object stood on: heights are measured, not known.
LIFTED_M = 0.005


class Surroundings:
    """Implements `robo.ObstaclePort`; the arm asks it for a scene, the gripper tells it what it holds."""

    def __init__(self, joints: Joints, body: Body, profile: RobotProfile) -> None:
        self._joints = joints
        self._body = body
        self._profile = profile
        self._obstacles: dict[str, tuple[Obstacle, ...]] = {}
        self._grasped: float | None = None
        self._held: HeldBox | None = None

    def add_box(self, name: str, xyz: FloatArray, size: FloatArray, yaw: float) -> None:
        """Add or replace a box."""
        (x, y, z), (length, width, height) = xyz.tolist(), size.tolist()
        self._obstacles[name] = (Obstacle(name, (x, y, z), (length, width, height), yaw),)

    def add_points(self, name: str, points: FloatArray) -> None:
        """Add or replace what points ``[count, 3]`` fill, without those on the robot and on the table."""
        table = self._profile.table
        if table is not None:
            points = points[points[:, 2] > table.upper[2] + TABLE_M]
        q, fingers = (self._joints.require(track) for track in (self._joints.arm, self._joints.fingers))
        for solid in self._body.solids(q, fingers):
            local = (points - solid.pose[:3, 3]) @ solid.pose[:3, :3]
            points = points[(np.abs(local) > solid.half + OWN_M).any(axis=1)]
        self._obstacles[name] = points_as_obstacles(name, points)

    def clear(self) -> None:
        """Forget all obstacles."""
        self._obstacles.clear()

    def grip(self, width: float | None) -> None:
        """Take note of what the fingers closed on, m wide; None: nothing."""
        self._grasped, self._held = width, None

    def scene(self, q: FloatArray, width: float) -> Scene:
        """All that a motion from joints `q` with the fingers `width` m apart must respect."""
        if self._grasped is not None and self._held is None:
            self._held = self._box(q, self._grasped)
        obstacles = tuple(box for boxes in self._obstacles.values() for box in boxes)
        width = float(np.clip(width, 0.0, self._profile.gripper.max_width))
        return Scene(obstacles, self._held if self._grasped is not None else None, width)

    def _box(self, q: FloatArray, width: float) -> HeldBox:
        """As wide as the grasp; from between the fingertips to the table below, where the hand points down."""
        position, quat = self._body.eef(q)
        below = THICKNESS_M / 2
        table = self._profile.table
        if table is not None and quat_to_matrix(quat)[2, 2] < -0.9:
            below = float(np.clip(position[2] - table.upper[2] - LIFTED_M, below, REACH_M))
        above = THICKNESS_M / 2
        side = max(width, THICKNESS_M)
        return HeldBox((0.0, 0.0, (below - above) / 2), (side, width, below + above))
