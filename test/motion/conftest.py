"""The FR3's profile and model, loaded once."""

import pytest

from pyrua_ros.motion.builtin import BuiltinPlanner
from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.robot_model.collision import CollisionChecker
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.profile import RobotProfile


@pytest.fixture(scope="session")
def profile() -> RobotProfile:
    return profiles.load("fr3")


@pytest.fixture(scope="session")
def model(profile: RobotProfile) -> RobotModel:
    return RobotModel(profile)


@pytest.fixture(scope="session")
def checker(model: RobotModel) -> CollisionChecker:
    return CollisionChecker(model)


@pytest.fixture(scope="session")
def planner(model: RobotModel, checker: CollisionChecker, profile: RobotProfile) -> BuiltinPlanner:
    return BuiltinPlanner(model, checker, profile)
