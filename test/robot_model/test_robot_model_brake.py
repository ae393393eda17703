"""The brake ends at rest, as fast as the limits allow, from any state."""

import numpy as np
import pytest
import ruckig
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.robot_model.brake import SHORTEST_S, brake
from pyrua_ros.robot_model.limits import evaluate, usage
from pyrua_ros.robot_model.trajectory import JointSample, Trajectory

FR3 = profiles.load("fr3")
LIMITS = FR3.arm.limits
shares = st.lists(st.floats(-1, 1), min_size=7, max_size=7).map(np.array)


def _brake(velocity: object, acceleration: object) -> Trajectory:
    state = JointSample(
        np.array(FR3.arm.home), np.asarray(velocity, dtype=float), np.asarray(acceleration, dtype=float)
    )
    return brake(LIMITS, FR3.arm.joints, state)


@settings(max_examples=200, deadline=None)
@given(shares, shares)
def test_it_starts_where_the_arm_is_and_ends_at_rest_within_the_limits(
    velocity: np.ndarray, acceleration: np.ndarray
) -> None:
    trajectory = _brake(1.1 * velocity * FR3.max_velocity, acceleration * FR3.max_acceleration)
    first = trajectory.sample(0.0)
    assert first.position == pytest.approx(FR3.arm.home)
    assert first.velocity == pytest.approx(1.1 * velocity * FR3.max_velocity)
    assert first.acceleration == pytest.approx(acceleration * FR3.max_acceleration)
    assert (trajectory.velocities[-1] == 0).all()
    assert (trajectory.accelerations[-1] == 0).all()
    used = usage(evaluate(trajectory, per_segment=31), LIMITS)
    assert used.acceleration <= 1 + 1e-6
    assert used.jerk <= 1 + 1e-6
    assert (np.diff(trajectory.times) >= 5e-5 - 2e-9).all()
    assert len(trajectory.times) <= 7 * 5 + 2


@settings(max_examples=60, deadline=None)
@given(shares, shares)
def test_it_is_hardly_slower_than_the_fastest_stop(velocity: np.ndarray, acceleration: np.ndarray) -> None:
    v, a = velocity * FR3.max_velocity, 0.99 * acceleration * FR3.max_acceleration
    parameters = ruckig.InputParameter(7)
    parameters.control_interface = ruckig.ControlInterface.Velocity
    parameters.synchronization = ruckig.Synchronization.No
    parameters.current_velocity, parameters.current_acceleration = v.tolist(), a.tolist()
    parameters.max_acceleration = list(LIMITS.acceleration)
    parameters.max_jerk = list(LIMITS.jerk)
    fastest = ruckig.Trajectory(7)
    ruckig.Ruckig(7).calculate(parameters, fastest)
    assert _brake(v, a).duration <= max(SHORTEST_S, 1.02 * fastest.duration + 0.005)


def test_full_speed_on_all_joints_stops_within_a_second() -> None:
    assert _brake(FR3.max_velocity, np.zeros(7)).duration <= 0.85


def test_an_arm_at_rest_stays_where_it_is() -> None:
    trajectory = _brake(np.zeros(7), np.zeros(7))
    assert (trajectory.positions == FR3.arm.home).all()
    assert trajectory.duration == SHORTEST_S


def test_an_acceleration_beyond_its_limit_is_brought_back() -> None:
    trajectory = _brake(np.zeros(7), 1.5 * FR3.max_acceleration)
    assert (trajectory.velocities[-1] == 0).all()
    motion = evaluate(trajectory)
    assert usage(motion, LIMITS).jerk <= 1 + 1e-6
    back = 0.5 * FR3.max_acceleration / FR3.max_jerk
    late = motion.times[:, None] >= 1.2 * back
    assert (np.abs(motion.acceleration) <= np.where(late, 1 + 1e-6, np.inf) * FR3.max_acceleration).all()


def test_the_motion_between_the_points_is_the_one_that_ruckig_means() -> None:
    velocity = np.array([1.5, -0.4, 0.7, 0.0, 2.0, -1.0, 0.3])
    motion = evaluate(_brake(velocity, np.zeros(7)))
    assert np.abs(np.abs(motion.jerk) - 495).min(axis=0)[velocity != 0] == pytest.approx(0, abs=1.0)
    distinct = np.unique(np.round(motion.jerk[:, 0]))
    assert distinct == pytest.approx([-495, 0, 495], abs=1.0)


def test_a_joint_that_stops_early_waits_for_the_others() -> None:
    velocity = np.zeros(7)
    velocity[1], velocity[6] = 1.0, 0.05
    trajectory = _brake(velocity, np.zeros(7))
    early = evaluate(trajectory).position[evaluate(trajectory).times > 0.1, 6]
    assert len(early) > 10
    assert early == pytest.approx(early[0], abs=1e-12)
    assert trajectory.positions[-1, 1] > FR3.arm.home[1]


def test_a_state_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        _brake([np.nan] + [0.0] * 6, np.zeros(7))
