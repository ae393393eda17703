"""Limits along a motion, between its points too."""

import numpy as np
import pytest

from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.robot_model.limits import evaluate, usage, velocity_bounds
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.trajectory import Trajectory


def _random_trajectory(profile: RobotProfile) -> Trajectory:
    rng = np.random.default_rng(1)
    times = np.array([0.0, 0.1, 0.35, 0.4])
    parts = (rng.uniform(-1, 1, (4, 7)) for _ in range(3))
    return Trajectory(profile.arm.joints, times, *parts)


def test_evaluate_agrees_with_sample(profile: RobotProfile) -> None:
    trajectory = _random_trajectory(profile)
    motion = evaluate(trajectory)
    inner = (motion.times > 0) & (motion.times < trajectory.duration)
    for t, p, v, a in zip(
        motion.times[inner],
        motion.position[inner],
        motion.velocity[inner],
        motion.acceleration[inner],
        strict=True,
    ):
        sample = trajectory.sample(t)
        assert p == pytest.approx(sample.position, abs=1e-9)
        assert v == pytest.approx(sample.velocity, abs=1e-7)
        assert a == pytest.approx(sample.acceleration, abs=1e-5)


def test_usage_names_the_joint_that_uses_most(profile: RobotProfile) -> None:
    zero = np.zeros((2, 7))
    velocity = np.zeros((2, 7))
    velocity[:, 3] = 2 * profile.max_velocity[3]
    position = np.tile(profile.arm.home, (2, 1))
    position[1, 3] += 0.1 * velocity[0, 3]
    used = usage(
        evaluate(Trajectory(profile.arm.joints, np.array([0.0, 0.1]), position, velocity, zero)),
        profile.arm.limits,
    )
    assert used.velocity == pytest.approx(2.0)
    assert used.velocity_joint == 3
    assert used.outside_rad == 0.0


def test_usage_says_how_far_a_position_is_outside(profile: RobotProfile) -> None:
    q = np.array(profile.arm.home)
    q[1] = profile.position_upper[1] + 0.07
    still = Trajectory(profile.arm.joints, np.array([0.0]), q[None], np.zeros((1, 7)), np.zeros((1, 7)))
    used = usage(evaluate(still), profile.arm.limits)
    assert used.outside_rad == pytest.approx(0.07)
    assert used.outside_joint == 1


def test_velocity_is_the_constant_limit_at_home_and_lower_towards_an_end(profile: RobotProfile) -> None:
    limits = profile.arm.limits
    lower, upper = velocity_bounds(limits, profile.arm.home)
    assert upper[0] == limits.velocity[0]
    assert lower[0] == -limits.velocity[0]
    lower, upper = velocity_bounds(limits, profile.position_upper)
    assert (upper >= 0.1).all()
    assert (upper < limits.velocity).all()
    assert lower[:5] == pytest.approx([-v for v in limits.velocity[:5]])


def test_the_franka_documentation_gives_the_same_velocity_near_an_end(profile: RobotProfile) -> None:
    q = np.array(profile.arm.home)
    q[0], q[3] = 2.6, -2.9
    lower, upper = velocity_bounds(profile.arm.limits, q)
    assert upper[0] == pytest.approx(-0.30 + np.sqrt(12.0 * (2.75010 - 2.6)))
    assert lower[3] == pytest.approx(0.30 - np.sqrt(8.0 * (3.0481 - 2.9)))


def test_a_robot_without_slowdown_has_constant_limits() -> None:
    panda = profiles.load("panda")
    lower, upper = velocity_bounds(panda.arm.limits, panda.position_upper)
    assert upper == pytest.approx(panda.max_velocity)
    assert lower == pytest.approx(-panda.max_velocity)
