"""One compiled cell for all physics tests, and a driver that moves the simulated arm without ROS."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from pyrua_ros.backends.mujoco import scenes
from pyrua_ros.backends.mujoco.world import World
from pyrua_ros.robot_model import profile
from pyrua_ros.robot_model.ik import solve_ik
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.rotations import down_quat, quat_to_matrix
from pyrua_ros.robot_model.trajectory import Trajectory
from pyrua_ros.wire import config

FR3 = profile.load("fr3")


class Driver:
    """Commands a world and lets its time pass."""

    def __init__(self, world: World, kinematics: RobotModel) -> None:
        self.world = world
        self.kinematics = kinematics

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.002)):
            self.world.step()

    def between(self, start: np.ndarray, end: np.ndarray, speed: float = 1.0) -> Trajectory:
        """Minimum-jerk motion that touches the velocity or acceleration limit, scaled by `speed`."""
        step = end - start
        duration = (
            max(
                np.max(1.875 * np.abs(step) / FR3.max_velocity),
                np.sqrt(np.max(5.7735 * np.abs(step) / FR3.max_acceleration)),
                0.1,
            )
            / speed
        )
        u = np.linspace(0.0, 1.0, 60)[:, None]
        return Trajectory(
            FR3.arm.joints,
            u[:, 0] * duration,
            start + step * (10 * u**3 - 15 * u**4 + 6 * u**5),
            step * (30 * u**2 - 60 * u**3 + 30 * u**4) / duration,
            step * (60 * u - 180 * u**2 + 120 * u**3) / duration**2,
        )

    @property
    def commanded(self) -> np.ndarray:
        return self.world.arm.desired(self.world.time).position

    @property
    def width(self) -> float:
        return float(self.world.robot_state().position[7:].sum())

    def go(self, q: np.ndarray, speed: float = 1.0) -> None:
        trajectory = self.between(self.commanded, np.asarray(q, dtype=float), speed)
        self.world.arm.command(trajectory, self.world.time)
        self.run(trajectory.duration + 0.1)

    def reach(self, xyz: np.ndarray, yaw: float = 0.0, speed: float = 1.0) -> None:
        result = solve_ik(self.kinematics, xyz, down_quat(yaw), self.commanded)
        assert result.q is not None, result.reason
        self.go(result.q, speed)

    def grasp(self, name: str, force: float = 30.0) -> np.ndarray:
        """Take an object from above, fingers along its sides; where it stood."""
        position, quat = self.world.body_pose(name)
        matrix = quat_to_matrix(quat)
        yaw = np.arctan2(matrix[1, 0], matrix[0, 0])
        yaw = (yaw + np.pi / 4) % (np.pi / 2) - np.pi / 4
        self.world.gripper.command(FR3.gripper.max_width, None)
        self.reach(position + [0.0, 0.0, 0.1], yaw)
        self.reach(position, yaw)
        self.world.gripper.command(0.0, force)
        self.run(0.8)
        return position

    def in_hand(self, name: str) -> np.ndarray:
        """Position of an object in the hand's frame, m."""
        hand, quat = self.world.body_pose("fr3_hand")
        return quat_to_matrix(quat).T @ (self.world.body_pose(name)[0] - hand)


@pytest.fixture(scope="session")
def compiled() -> World:
    return World(FR3, scenes.load("cube_bowl"), 1, config.cameras().cameras)


@pytest.fixture(scope="session")
def kinematics() -> RobotModel:
    return RobotModel(FR3)


@pytest.fixture
def drive(kinematics: RobotModel) -> Callable[[World], Driver]:
    """Make a driver of any world."""
    return lambda world: Driver(world, kinematics)


@pytest.fixture
def driver(compiled: World, kinematics: RobotModel) -> Iterator[Driver]:
    """The cell of seed 1, fresh."""
    compiled.reset(1)
    yield Driver(compiled, kinematics)
