"""The FR3's profile and model, loaded once."""

import pytest

from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.profile import RobotProfile


@pytest.fixture(scope="session")
def profile() -> RobotProfile:
    return profiles.load("fr3")


@pytest.fixture(scope="session")
def model(profile: RobotProfile) -> RobotModel:
    return RobotModel(profile)
