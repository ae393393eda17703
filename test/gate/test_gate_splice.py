"""Streams: trajectories that take over from a motion under way, through the start rule and on the way out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrua_ros.gate import config as gate_config
from pyrua_ros.gate.limits import LimitChecker, Refused
from pyrua_ros.gate.measured import Measured
from pyrua_ros.gate.outlet import Command
from pyrua_ros.gate.start import fit_start
from pyrua_ros.robot_model import profile as robot_profile
from pyrua_ros.robot_model.brake import brake
from pyrua_ros.robot_model.trajectory import JointSample, Trajectory

FR3 = robot_profile.load("fr3")
CONFIG = gate_config.load()
START = CONFIG.start
HOME = np.array(FR3.arm.home)
LIMITS = LimitChecker(FR3, CONFIG.limits, lambda q: np.array([0.4, 0.0, 0.4]))


def minimum_jerk(start: np.ndarray, end: np.ndarray, duration: float = 2.0, points: int = 41) -> Trajectory:
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


MOTION = minimum_jerk(HOME, HOME + 0.3)
UNDER_WAY = Command(MOTION, 100.0, "g")


def measured(position: np.ndarray = HOME, velocity: float = 0.0) -> Measured:
    return Measured(position, np.full(7, velocity), 0.08, 5.0)


def tail(at: float) -> Trajectory:
    """What is left of MOTION from `at` on, in points of its own."""
    times = np.append(np.arange(at, MOTION.duration - 0.01, 0.05), MOTION.duration)
    states = [MOTION.sample(t) for t in times]
    return Trajectory(
        MOTION.names,
        times - at,
        np.array([s.position for s in states]),
        np.array([s.velocity for s in states]),
        np.array([s.acceleration for s in states]),
    )


def brake_from(state: JointSample) -> Trajectory:
    """A little below the limits, as streams should stay."""
    limits = FR3.arm.limits
    easy = limits.model_copy(update={"jerk": tuple(0.9 * jerk for jerk in limits.jerk)})
    return brake(easy, FR3.arm.joints, state)


def furthest(sent: Trajectory, now: float) -> float:
    """Largest distance between what is sent at `now` and MOTION, rad."""
    times = np.arange(0.0, sent.duration, 0.005)
    return max(float(np.abs(sent.sample(t).position - UNDER_WAY.at(now + t).position).max()) for t in times)


@settings(max_examples=40, deadline=None)
@given(begin=st.floats(0.3, 1.2), early=st.floats(-0.19, 0.45))
def test_a_stamped_continuation_follows_the_very_motion_whenever_it_arrives(begin, early):
    now = 100.0 + begin - early
    sent, settled = fit_start(tail(begin), 100.0 + begin, UNDER_WAY, measured(), now, START)
    assert settled == 100.0 + begin
    assert furthest(sent, now) < 1e-6
    assert sent.duration == pytest.approx(102.0 - now)
    assert sent.sample(0.0).velocity == pytest.approx(UNDER_WAY.at(now).velocity)
    LIMITS.check(sent)


@settings(max_examples=30, deadline=None)
@given(begin=st.floats(0.5, 1.2), off=st.floats(-0.03, 0.03))
def test_an_unstamped_continuation_is_placed_where_the_command_passes_its_first_point(begin, off):
    now = 100.0 + begin + off
    sent, settled = fit_start(tail(begin), None, UNDER_WAY, measured(), now, START)
    assert settled == pytest.approx(100.0 + begin, abs=1e-4)
    assert furthest(sent, now) < 1e-4


@settings(max_examples=30, deadline=None)
@given(begin=st.floats(0.3, 1.6), lead=st.floats(0.0, 0.3))
def test_a_stream_may_brake_at_any_moment(begin, lead):
    state = UNDER_WAY.at(100.0 + begin)
    now = 100.0 + begin - lead
    sent, _ = fit_start(brake_from(state), 100.0 + begin, UNDER_WAY, measured(), now, START)
    LIMITS.check_motion(sent)
    assert not sent.velocities[-1].any()
    assert sent.sample(0.0).position == pytest.approx(UNDER_WAY.at(now).position)


def test_a_small_difference_at_the_seam_is_blended_within_the_limits():
    begin, now = 101.0, 100.96
    late = tail(1.0)
    shifted = Trajectory(late.names, late.times, late.positions + 0.0002, late.velocities, late.accelerations)
    sent, _ = fit_start(shifted, begin, UNDER_WAY, measured(), now, START)
    LIMITS.check(sent)
    assert sent.sample(0.0).position == pytest.approx(UNDER_WAY.at(now).position)
    assert sent.end == pytest.approx(MOTION.end + 0.0002)


@pytest.mark.parametrize(
    ("field", "by", "unit"),
    [("positions", 0.012, "rad"), ("velocities", 0.11, "rad/s"), ("accelerations", 2.2, "rad/s²")],
)
def test_a_jump_at_the_seam_is_refused_with_joint_value_and_limit(field, by, unit):
    whole = tail(1.0)
    columns = {name: getattr(whole, name).copy() for name in ("positions", "velocities", "accelerations")}
    columns[field][0, 4] += by
    jumping = Trajectory(whole.names, whole.times, **columns)
    limit = {
        "rad": START.motion_position,
        "rad/s": START.motion_velocity,
        "rad/s²": START.motion_acceleration,
    }
    with pytest.raises(Refused) as refusal:
        fit_start(jumping, 101.0, UNDER_WAY, measured(), 100.95, START)
    assert str(refusal.value) == (
        f"the trajectory starts with fr3_joint5 {by:.4g} {unit} away from the motion that is under way "
        f"(limit {limit[unit]:.4g}); plan again from the present state"
    )


@pytest.mark.parametrize(
    ("begin", "reason"),
    [
        (101.6, "the trajectory is stamped 0.6 s in the future (limit 0.5 s)"),
        (100.7, "the trajectory came 0.3 s after its stamp (limit 0.2 s); plan from a later moment"),
    ],
)
def test_a_stamp_too_early_or_too_late_is_refused(begin, reason):
    with pytest.raises(Refused) as refusal:
        fit_start(tail(begin - 100.0), begin, UNDER_WAY, measured(), 101.0, START)
    assert str(refusal.value) == reason


def test_a_stream_from_rest_begins_at_its_stamp():
    ended = Command(minimum_jerk(HOME + 0.1, HOME), 90.0)
    for command in (None, ended):
        sent, begin = fit_start(MOTION, 100.2, command, measured(), 100.0, START)
        assert begin == 100.2
        assert sent.sample(0.1).position == pytest.approx(HOME)
        assert sent.sample(0.7).position == pytest.approx(MOTION.sample(0.5).position, abs=1e-9)
        LIMITS.check(sent)


def test_from_rest_without_a_stamp_the_trajectory_goes_out_as_it_came():
    assert fit_start(MOTION, None, None, measured(), 100.0, START) == (MOTION, None)


def test_from_rest_the_measured_state_counts_not_the_command():
    with pytest.raises(Refused, match=r"fr3_joint\d 0\.3 rad away from its measured position"):
        fit_start(MOTION, 100.1, None, measured(HOME + 0.3), 100.0, START)
    with pytest.raises(Refused, match="the arm moves without a command"):
        fit_start(MOTION, 100.1, None, measured(velocity=0.2), 100.0, START)


def test_streaming_at_fifty_hertz_is_one_smooth_motion():
    """Every 20 ms a new trajectory from 50 ms ahead: a ramp up, then the brake."""
    command = None
    plan, planned_from, now = MOTION, 100.05, 100.0
    speeds = []
    for k in range(60):
        arrives = now + 0.003 * (k % 5)
        sent, _ = fit_start(plan, planned_from, command, measured(), arrives, START)
        LIMITS.check(sent)
        command = Command(sent, arrives)
        now += 0.02
        t = now + 0.05
        state = command.at(t)
        assert state.position == pytest.approx(UNDER_WAY.at(t - 0.05).position, abs=1e-5)
        speeds.append(float(state.velocity[0]))
        plan, planned_from = tail(t - 100.05), t
    assert max(speeds) == pytest.approx(0.3 * 1.875 / 2.0, rel=0.01)
