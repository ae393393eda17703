"""Trajectories stay within every limit between their points too, and start and end at rest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrua_ros.motion.timing import MAX_POINTS, TimingError, time_path
from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.robot_model.limits import evaluate, usage
from pyrua_ros.robot_model.trajectory import Trajectory

FR3 = profiles.load("fr3")
HOME = np.array(FR3.arm.home)
shares = st.lists(st.floats(0, 1), min_size=7, max_size=7).map(np.array)


def _posture(share: np.ndarray) -> np.ndarray:
    return FR3.position_lower + share * (FR3.position_upper - FR3.position_lower)


def _assert_legal(trajectory: Trajectory, speed: float = 1.0) -> None:
    used = usage(evaluate(trajectory, per_segment=31), FR3.arm.limits)
    assert used.velocity <= 1.0
    assert used.acceleration <= 1.0
    assert used.jerk <= 1.0
    assert used.outside_rad <= 1e-9
    peak = np.abs(evaluate(trajectory).velocity).max(axis=0)
    assert (peak <= speed * FR3.max_velocity).all()
    for end in (0, -1):
        assert (trajectory.velocities[end] == 0).all()
        assert (trajectory.accelerations[end] == 0).all()
    assert len(trajectory.times) <= MAX_POINTS
    assert trajectory.times[0] == 0.0
    assert np.diff(trajectory.times).min() >= 0.002 - 1e-9


@settings(max_examples=60, deadline=None)
@given(shares, shares, st.floats(0.05, 1.0))
def test_any_two_postures_are_joined_within_the_limits(a: np.ndarray, b: np.ndarray, speed: float) -> None:
    start, end = _posture(a), _posture(b)
    trajectory = time_path([start, end], FR3, speed)
    _assert_legal(trajectory, speed)
    assert trajectory.positions[0] == pytest.approx(start, abs=1e-7)
    assert trajectory.end == pytest.approx(end, abs=1e-7)


@pytest.mark.parametrize("length", [1e-9, 1e-6, 1e-4, 1e-3, 0.03])
def test_tiny_motions_are_legal_too(length: float) -> None:
    trajectory = time_path([HOME, HOME + length], FR3)
    _assert_legal(trajectory)
    assert trajectory.duration >= 0.05 - 1e-9


def test_two_waypoints_are_a_straight_line_in_joint_space() -> None:
    end = HOME + np.array([0.5, 0.3, -0.2, 0.4, 0.1, -0.3, 0.8])
    trajectory = time_path([HOME, end], FR3)
    direction = (end - HOME) / np.linalg.norm(end - HOME)
    offsets = evaluate(trajectory).position - HOME
    off_line = offsets - np.outer(offsets @ direction, direction)
    assert np.abs(off_line).max() < 1e-9


def test_a_long_line_at_full_speed_uses_a_limit_fully() -> None:
    end = HOME.copy()
    end[0] = 1.5
    used = usage(evaluate(time_path([HOME, end], FR3)), FR3.arm.limits)
    assert 0.98 < max(used.velocity, used.acceleration) <= 1.0
    assert 0.98 < used.jerk <= 1.0


def test_half_the_speed_takes_longer() -> None:
    end = HOME + 0.4
    assert time_path([HOME, end], FR3, 0.5).duration > 1.3 * time_path([HOME, end], FR3).duration


def test_a_motion_to_the_end_of_the_joints_slows_down_there() -> None:
    trajectory = time_path([HOME, FR3.position_upper], FR3)
    _assert_legal(trajectory)
    assert trajectory.end == pytest.approx(FR3.position_upper)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31))
def test_smooth_paths_through_many_points_are_within_the_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = np.linspace(0, 1, 40)[:, None]
    wave = rng.uniform(-0.3, 0.3, 7) * np.sin(np.pi * rng.uniform(0.5, 3, 7) * s)
    points = HOME + wave + rng.uniform(-0.4, 0.4, 7) * s
    trajectory = time_path(points, FR3, float(rng.uniform(0.1, 1)))
    _assert_legal(trajectory)
    path = evaluate(trajectory).position
    for point in points:
        assert np.abs(path - point).max(axis=1).min() < 0.02


def test_repeated_waypoints_do_no_harm() -> None:
    end = HOME + 0.2
    trajectory = time_path([HOME, HOME, end, end], FR3)
    _assert_legal(trajectory)
    assert trajectory.duration == pytest.approx(time_path([HOME, end], FR3).duration)


def test_no_path_at_all_is_to_stand_still() -> None:
    trajectory = time_path([HOME, HOME], FR3)
    assert (trajectory.positions == HOME).all()
    assert trajectory.duration == pytest.approx(0.05)


def test_a_path_where_a_joint_may_not_move_at_all_is_refused() -> None:
    beyond = FR3.position_upper + 0.2
    points = np.linspace(FR3.position_upper, beyond, 20)
    with pytest.raises(TimingError):
        time_path(points, FR3)
