"""Misuse is one clear error with the value and what is allowed; nothing is planned."""

import numpy as np
import pytest

from pyrua_ros.motion.goals import JointGoal, PoseGoal, admissible_start, check_goal, check_speed
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.rotations import down_quat


@pytest.mark.parametrize(
    "xyz", [[0.4, np.nan, 0.2], [0.4, np.inf, 0.2], "over there", [0.4, 0.2], None, [[0.4, 0.0, 0.2]], 0.4]
)
def test_a_position_that_is_not_three_finite_numbers_is_refused(xyz: object) -> None:
    with pytest.raises(ValueError, match="xyz must be 3 finite numbers, got"):
        PoseGoal(xyz)  # type: ignore[arg-type]


@pytest.mark.parametrize("quat", [[0, 0, 1], [0, 0, np.nan, 1], "down"])
def test_an_orientation_that_is_not_four_finite_numbers_is_refused(quat: object) -> None:
    with pytest.raises(ValueError, match=r"quat \(xyzw\) must be 4 finite numbers"):
        PoseGoal(np.array([0.4, 0.0, 0.2]), quat)  # type: ignore[arg-type]


def test_a_zero_quaternion_is_refused_and_another_is_made_unit_length() -> None:
    with pytest.raises(ValueError, match="must not be zero"):
        PoseGoal(np.array([0.4, 0.0, 0.2]), np.zeros(4))
    assert PoseGoal(np.array([0.4, 0.0, 0.2]), np.array([2.0, 0, 0, 0])).quat == pytest.approx([1, 0, 0, 0])


def test_the_hand_points_down_unless_told_otherwise() -> None:
    assert PoseGoal(np.array([0.4, 0.0, 0.2])).quat == pytest.approx(down_quat())


def test_a_point_three_metres_away_is_refused_with_the_workspace(profile: RobotProfile) -> None:
    with pytest.raises(
        ValueError, match=r"x = 3.000 m is outside the workspace: x must be in \[-0.2, 0.85\]"
    ):
        check_goal(PoseGoal(np.array([3.0, 0.0, 0.2])), profile)


def test_joints_outside_their_limits_are_refused_by_name(profile: RobotProfile) -> None:
    q = np.array(profile.arm.home)
    q[3] = 0.5
    with pytest.raises(
        ValueError, match=r"fr3_joint4 = 0.5000 rad is outside its limits \[-3.0271, -0.1668\]"
    ):
        check_goal(JointGoal(q), profile)


@pytest.mark.parametrize("q", [[0.1] * 6, [np.nan] * 7, "home", [[0.0] * 7]])
def test_joints_that_are_not_seven_finite_numbers_are_refused(q: object, profile: RobotProfile) -> None:
    with pytest.raises(ValueError, match="q must be .* finite numbers"):
        check_goal(JointGoal(q), profile)  # type: ignore[arg-type]


@pytest.mark.parametrize("speed", [0, -0.1, 1.01, np.nan, np.inf, True, "fast", None, [0.5]])
def test_a_speed_outside_zero_to_one_is_refused(speed: object) -> None:
    with pytest.raises(ValueError, match=r"speed must be a number in \(0, 1\]"):
        check_speed(speed)


@pytest.mark.parametrize("speed", [1, 0.05, np.float32(0.5)])
def test_a_share_of_the_limits_is_a_speed(speed: float) -> None:
    assert check_speed(speed) == pytest.approx(float(speed))


def test_a_joint_a_hair_outside_its_limit_is_clamped(profile: RobotProfile) -> None:
    q = np.array(profile.arm.home)
    q[1] = profile.position_upper[1] + 1e-6
    assert admissible_start(q, profile)[1] == profile.position_upper[1]


def test_a_joint_far_outside_its_limit_is_named_with_its_distance(profile: RobotProfile) -> None:
    q = np.array(profile.arm.home)
    q[1] = profile.position_upper[1] + 0.05
    with pytest.raises(ValueError, match=r"fr3_joint2 is at .* rad, 0.0500 rad outside its limits"):
        admissible_start(q, profile)
