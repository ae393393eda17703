"""Any trajectory within the limits passes; any dimension beyond them is refused by the joint's name."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrua_ros.gate import config
from pyrua_ros.gate.limits import LimitChecker, Refused
from pyrua_ros.robot_model import profile as robot_profile
from pyrua_ros.robot_model.brake import brake
from pyrua_ros.robot_model.limits import evaluate, usage
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.trajectory import JointSample, Trajectory

FR3 = robot_profile.load("fr3")
LIMITS = config.load().limits
HOME = np.array(FR3.arm.home)
MODEL = RobotModel(FR3)
CHECKER = LimitChecker(FR3, LIMITS, lambda q: MODEL.fk(q)[0])
ANYWHERE = LimitChecker(FR3, LIMITS, lambda q: np.array([0.4, 0.0, 0.4]))

# Peaks of the minimum-jerk motion 10 s³ - 15 s⁴ + 6 s⁵ over a unit of path and time.
PEAK_VELOCITY, PEAK_ACCELERATION, PEAK_JERK = 1.875, 10 / np.sqrt(3), 60.0


def minimum_jerk(start: np.ndarray, end: np.ndarray, duration: float, points: int) -> Trajectory:
    t = np.linspace(0.0, duration, points)
    s = (t / duration)[:, None]
    d = (end - start)[None, :]
    return Trajectory(
        FR3.arm.joints,
        t,
        start + d * (10 * s**3 - 15 * s**4 + 6 * s**5),
        d * (30 * s**2 - 60 * s**3 + 30 * s**4) / duration,
        d * (60 * s - 180 * s**2 + 120 * s**3) / duration**2,
    )


def shortest(d: np.ndarray) -> float:
    """The duration at which a minimum-jerk motion by `d` reaches the first of the limits."""
    d = np.abs(d)
    return max(
        (PEAK_VELOCITY * d / FR3.max_velocity).max(),
        np.sqrt(PEAK_ACCELERATION * d / FR3.max_acceleration).max(),
        np.cbrt(PEAK_JERK * d / FR3.max_jerk).max(),
    )


def reason(trajectory: Trajectory, checker: LimitChecker = ANYWHERE) -> str:
    with pytest.raises(Refused) as refusal:
        checker.check(trajectory)
    return str(refusal.value)


postures = st.tuples(*(st.floats(0.0, 1.0) for _ in FR3.arm.joints)).map(
    lambda u: FR3.position_lower + np.array(u) * (FR3.position_upper - FR3.position_lower)
)


@settings(max_examples=60, deadline=None)
@given(start=postures, end=postures, points=st.integers(2, 60), slowness=st.floats(1.0, 3.0))
def test_any_motion_within_the_limits_is_accepted(start, end, points, slowness):
    duration = max(0.2, slowness * shortest(end - start))
    trajectory = minimum_jerk(start, end, duration, points)
    # Near the ends of the joints the velocity limits are lower.
    while (stretch := usage(evaluate(trajectory, 101), FR3.arm.limits).velocity) > 1:
        duration *= 1.01 * stretch
        trajectory = minimum_jerk(start, end, duration, points)
    assert ANYWHERE.check(trajectory) is trajectory


@settings(max_examples=60, deadline=None)
@given(start=postures, end=postures, points=st.integers(2, 60), joint=st.integers(0, 6))
def test_a_motion_too_fast_for_one_joint_is_refused_by_its_name(start, end, points, joint):
    d = np.zeros(7)
    d[joint] = end[joint] - start[joint]
    if abs(d[joint]) < 0.05:
        d[joint] = 0.05 if start[joint] + 0.05 < FR3.position_upper[joint] else -0.05
    text = reason(minimum_jerk(start, start + d, 0.9 * shortest(d), points))
    assert FR3.arm.joints[joint] in text
    assert "beyond its limit" in text


@settings(max_examples=60, deadline=None)
@given(joint=st.integers(0, 6), up=st.booleans(), by=st.floats(0.01, 0.5))
def test_an_end_outside_a_joint_limit_is_refused_by_its_name(joint, up, by):
    end = HOME.copy()
    end[joint] = FR3.position_upper[joint] + by if up else FR3.position_lower[joint] - by
    text = reason(minimum_jerk(HOME, end, 2 * shortest(end - HOME), 50))
    assert f"position of {FR3.arm.joints[joint]}" in text
    assert f"{end[joint] - (by if up else -by):.5g} rad" in text


@settings(max_examples=60, deadline=None)
@given(
    joint=st.integers(0, 6),
    piece=st.integers(0, 48),
    field=st.sampled_from(["velocities", "accelerations"]),
    sign=st.sampled_from([-1.0, 1.0]),
)
def test_a_spike_in_any_derivative_of_one_point_is_refused_by_its_joint(joint, piece, field, sign):
    trajectory = minimum_jerk(HOME, HOME + 0.2, 2.0, 50)
    values = getattr(trajectory, field).copy()
    limit = FR3.max_velocity if field == "velocities" else FR3.max_acceleration
    values[piece, joint] += sign * 2.5 * limit[joint]
    assert FR3.arm.joints[joint] in reason(replace(trajectory, **{field: values}))


def test_a_spike_between_two_legal_points_is_refused():
    # Both ends at rest in legal places, but the second is reached in a tenth of the time that it takes.
    end = HOME + np.array([0.5, 0, 0, 0, 0, 0, 0])
    rest = np.zeros((2, 7))
    text = reason(Trajectory(FR3.arm.joints, np.array([0.0, 0.2]), np.array([HOME, end]), rest, rest))
    assert text.startswith("velocity of fr3_joint1 is 4.6875 rad/s at 0.100 s, beyond its limit 2 rad/s")


def test_an_excursion_between_two_points_inside_the_position_limits_is_refused():
    start = HOME.copy()
    start[0] = FR3.position_upper[0] - 0.01
    velocity = np.zeros((4, 7))
    velocity[1, 0], velocity[2, 0] = 0.8, -0.8
    positions = np.array([start, start, start, start])
    positions[0, 0] = positions[3, 0] = start[0] - 0.4
    trajectory = Trajectory(
        FR3.arm.joints, np.array([0.0, 1.5, 2.5, 4.0]), positions, velocity, np.zeros((4, 7))
    )
    peak = max(trajectory.sample(t).position[0] for t in np.linspace(1.5, 2.5, 101))
    assert peak > FR3.position_upper[0] + 0.05
    assert "position of fr3_joint1" in reason(trajectory)


@settings(max_examples=40, deadline=None)
@given(
    point=st.integers(0, 9),
    joint=st.integers(0, 6),
    field=st.sampled_from(["positions", "velocities", "accelerations"]),
    value=st.sampled_from([np.nan, np.inf, -np.inf]),
)
def test_a_value_that_is_not_finite_is_refused_by_joint_and_point(point, joint, field, value):
    trajectory = minimum_jerk(HOME, HOME + 0.1, 2.0, 10)
    values = getattr(trajectory, field).copy()
    values[point, joint] = value
    assert reason(replace(trajectory, **{field: values})) == (
        f"{field} of {FR3.arm.joints[joint]} at point {point} is {value}"
    )


@settings(max_examples=30, deadline=None)
@given(order=st.permutations(range(7)))
def test_joints_in_any_order_are_mapped_by_name(order):
    trajectory = minimum_jerk(HOME, HOME + np.linspace(0.01, 0.1, 7), 2.0, 10)
    shuffled = Trajectory(
        tuple(FR3.arm.joints[i] for i in order),
        trajectory.times,
        trajectory.positions[:, order],
        trajectory.velocities[:, order],
        trajectory.accelerations[:, order],
    )
    checked = ANYWHERE.check(shuffled)
    assert checked.names == FR3.arm.joints
    assert np.array_equal(checked.positions, trajectory.positions)


def test_a_missing_joint_is_named():
    whole = minimum_jerk(HOME, HOME, 1.0, 3)
    short = Trajectory(whole.names[1:], whole.times, *(getattr(whole, f)[:, 1:] for f in _COLUMNS))
    assert reason(short) == "joint fr3_joint1 is missing from the trajectory"


def test_an_unknown_joint_is_named():
    whole = minimum_jerk(HOME, HOME, 1.0, 3)
    more = Trajectory(
        (*whole.names, "elbow"), whole.times, *(np.pad(getattr(whole, f), ((0, 0), (0, 1))) for f in _COLUMNS)
    )
    assert reason(more).startswith("joint elbow is not one of fr3_joint1, ")


_COLUMNS = ("positions", "velocities", "accelerations")


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([0.0, 1.0, 1.0, 2.0], "points 1 and 2 are at 1 s and 1 s; times must rise"),
        ([0.0, 1.0, 0.5, 2.0], "points 1 and 2 are at 1 s and 0.5 s; times must rise"),
        ([0.1, 1.0, 1.5, 2.0], "the first point is at 0.1 s"),
        ([0.0, 1.0, 1.5, 200.0], "the trajectory takes 200 s, more than 120 s"),
        ([0.0, np.nan, 1.5, 2.0], "the time of point 1 is not finite"),
    ],
)
def test_times_that_make_no_sense_are_refused(times, expected):
    rest = np.zeros((4, 7))
    trajectory = Trajectory(FR3.arm.joints, np.array(times), np.tile(HOME, (4, 1)), rest, rest)
    assert reason(trajectory).startswith(expected)


def test_a_velocity_too_high_so_near_the_end_of_a_joint_is_refused_and_away_from_it_accepted():
    position, velocity = HOME.copy(), np.zeros(7)
    position[3], velocity[3] = -0.22, 0.5
    towards = brake(FR3.arm.limits, FR3.arm.joints, JointSample(position, velocity, np.zeros(7)))
    assert towards.end[3] < FR3.position_upper[3]
    text = reason(towards)
    assert re.fullmatch(
        r"velocity of fr3_joint4 is 0\.4\d+ rad/s at 0\.0\d\d s, beyond its limit 0\.4\d+ rad/s "
        r"at -0\.21\d+ rad, near its end",
        text,
    )
    away = brake(FR3.arm.limits, FR3.arm.joints, JointSample(position, -velocity, np.zeros(7)))
    assert ANYWHERE.check(away) is away


def test_too_many_points_are_refused():
    n = LIMITS.max_points + 1
    rest = np.zeros((n, 7))
    trajectory = Trajectory(FR3.arm.joints, np.arange(n) * 0.01, np.tile(HOME, (n, 1)), rest, rest)
    assert reason(trajectory) == f"the trajectory has {n} points, more than {LIMITS.max_points}"


def test_a_trajectory_that_does_not_end_at_rest_is_refused():
    end = HOME + np.array([0.3, 0, 0, 0, 0, 0, 0])
    whole = minimum_jerk(HOME, end, 3.0, 31)
    cut = Trajectory(whole.names, whole.times[:16], *(getattr(whole, f)[:16] for f in _COLUMNS))
    assert reason(cut).startswith("the trajectory does not end at rest: fr3_joint1 still has 0.1875 rad/s")


def test_a_start_measured_a_millionth_outside_its_limit_passes_and_a_twentieth_does_not():
    start = HOME.copy()
    start[3] = FR3.position_upper[3] + 1e-6
    assert ANYWHERE.check(minimum_jerk(start, HOME, 5.0, 20)).duration == 5.0
    start[3] = FR3.position_upper[3] + 0.05
    assert reason(minimum_jerk(start, HOME, 5.0, 20)).startswith(
        f"position of fr3_joint4 is {start[3]:.5g} rad at 0.000 s, beyond its limit {start[3] - 0.05:.5g} rad"
    )


def test_one_point_is_a_legal_hold():
    assert len(CHECKER.check(minimum_jerk(HOME, HOME, 1.0, 3)).times) == 3
    hold = Trajectory(FR3.arm.joints, np.zeros(1), HOME[None], np.zeros((1, 7)), np.zeros((1, 7)))
    assert CHECKER.check(hold) is hold


def test_an_end_effector_that_leaves_the_workspace_is_refused_with_axis_and_limit():
    low = np.array([0.0, 1.1, 0.0, -1.6, 0.0, 2.5, 0.785])
    assert MODEL.fk(low)[0][2] < FR3.workspace.lower[2] - 0.05
    text = reason(minimum_jerk(HOME, low, 8.0, 40), CHECKER)
    assert text.startswith("the end effector would leave the workspace: z = ")
    assert text.endswith("limit -0.020 m")


def test_a_swing_out_of_the_workspace_and_back_within_one_segment_is_seen():
    far = HOME.copy()
    far[0] = 2.6
    back = HOME.copy()
    back[0] = -2.6
    assert all(abs(MODEL.fk(q)[0]).max() < 0.75 for q in (far, back))
    rest = np.zeros((2, 7))
    swing = Trajectory(FR3.arm.joints, np.array([0.0, 20.0]), np.array([far, back]), rest, rest)
    box = FR3.workspace.model_copy(update={"lower": (-2.0, -2.0, -0.02), "upper": (0.25, 2.0, 2.0)})
    narrow = LimitChecker(FR3.model_copy(update={"workspace": box}), LIMITS, lambda q: MODEL.fk(q)[0])
    assert "x = 0." in reason(swing, narrow)


def test_an_arm_outside_the_workspace_may_come_back_in_but_not_go_further_out():
    box = FR3.workspace.model_copy(update={"upper": (0.3, 0.75, 1.1)})
    narrow = LimitChecker(FR3.model_copy(update={"workspace": box}), LIMITS, lambda q: MODEL.fk(q)[0])
    inside = HOME - np.array([0, 0.3, 0, 0.1, 0, 0, 0])
    outside = HOME + np.array([0, 0.3, 0, 0.1, 0, 0, 0])
    assert MODEL.fk(outside)[0][0] > 0.35
    assert narrow.check(minimum_jerk(outside, inside, 5.0, 50)).duration == 5.0
    further = outside + np.array([0, 0.2, 0, 0, 0, 0, 0])
    assert "x = " in reason(minimum_jerk(outside, further, 5.0, 50), narrow)
