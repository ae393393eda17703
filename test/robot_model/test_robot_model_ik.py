"""Inverse kinematics finds what is reachable and says so when nothing is."""

import numpy as np
import pytest

from pyrua_ros.robot_model.ik import ANGLE_TOLERANCE_RAD, POSITION_TOLERANCE_M, ik_candidates, solve_ik
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.rotations import angle_between, down_quat


def test_at_least_99_of_100_random_reachable_poses_are_solved(
    profile: RobotProfile, model: RobotModel
) -> None:
    rng = np.random.default_rng(11)
    solved = 0
    for _ in range(200):
        xyz, quat = model.fk(rng.uniform(profile.position_lower, profile.position_upper))
        q = solve_ik(model, xyz, quat, profile.arm.home, rng=rng).q
        if q is None:
            continue
        solved += 1
        reached, turned = model.fk(q)
        assert np.linalg.norm(reached - xyz) < 2 * POSITION_TOLERANCE_M
        assert angle_between(turned, quat) < 2 * ANGLE_TOLERANCE_RAD
        assert (q >= profile.position_lower).all() and (q <= profile.position_upper).all()
    assert solved >= 198


def test_a_pose_nearby_is_solved_nearby(profile: RobotProfile, model: RobotModel) -> None:
    home = np.array(profile.arm.home)
    xyz, quat = model.fk(home)
    for shift in ([0.05, 0, 0], [0, -0.08, 0], [0, 0, -0.1]):
        q = solve_ik(model, xyz + shift, quat, home).q
        assert q is not None
        assert np.abs(q - home).max() < 0.4


def test_equal_questions_get_equal_answers(profile: RobotProfile, model: RobotModel) -> None:
    ask = ([0.4, -0.3, 0.2], down_quat(yaw=1.2), profile.arm.home)
    first, second = solve_ik(model, *ask).q, solve_ik(model, *ask).q
    assert first is not None and second is not None
    assert (first == second).all()


def test_an_unreachable_pose_says_how_close_it_gets(profile: RobotProfile, model: RobotModel) -> None:
    result = solve_ik(model, [2.0, 0.0, 0.5], down_quat(), profile.arm.home, attempts=6)
    assert result.q is None
    assert "fr3_hand_tcp at (2.000, 0.000, 0.500) m" in result.reason
    assert "mm" in result.reason
    assert result.attempts == 6


def test_candidates_are_different_and_sorted_by_distance(profile: RobotProfile, model: RobotModel) -> None:
    home = np.array(profile.arm.home)
    found = ik_candidates(model, [0.45, 0.1, 0.3], down_quat(), home, rng=np.random.default_rng(3), count=4)
    assert len(found) == 4
    distances = [float(np.linalg.norm(q - home)) for q in found]
    assert distances == sorted(distances)
    for i, q in enumerate(found):
        assert np.linalg.norm(model.fk(q)[0] - [0.45, 0.1, 0.3]) < 2 * POSITION_TOLERANCE_M
        assert all(np.abs(q - other).max() > 0.05 for other in found[:i])


def test_a_start_outside_the_limits_still_solves_inside(profile: RobotProfile, model: RobotModel) -> None:
    seed = profile.position_upper + 0.3
    q = solve_ik(model, [0.5, 0.0, 0.3], down_quat(), seed).q
    assert q is not None
    assert (q <= profile.position_upper).all()


def test_half_a_turn_is_solved(profile: RobotProfile, model: RobotModel) -> None:
    xyz, _ = model.fk(profile.arm.home)
    up = np.array([0.0, 0.0, 0.0, 1.0])
    q = solve_ik(model, xyz + [0.1, 0, 0.3], up, profile.arm.home).q
    assert q is not None
    assert angle_between(model.fk(q)[1], up) == pytest.approx(0, abs=2 * ANGLE_TOLERANCE_RAD)
