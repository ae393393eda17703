"""Collisions along a path, on the robot's own shapes."""

from __future__ import annotations

import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrua_ros.gate import config as gate_config
from pyrua_ros.gate.collisions import PathChecker, keep_out, postures
from pyrua_ros.gate.limits import Refused
from pyrua_ros.gate.worker import CheckWorker
from pyrua_ros.robot_model import profile as robot_profile
from pyrua_ros.robot_model.ik import solve_ik
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.profile import Box
from pyrua_ros.robot_model.rotations import down_quat
from pyrua_ros.robot_model.trajectory import Trajectory

FR3 = robot_profile.load("fr3")
CONFIG = gate_config.load().collision
HOME = np.array(FR3.arm.home)
CHECKER = PathChecker(FR3, CONFIG)


def line(*ends: np.ndarray, points: int = 41) -> Trajectory:
    """From rest to rest along straight joint segments; a minimum jerk in each."""
    t = np.linspace(0.0, 1.0, points)
    s = (t**3 * (10 - 15 * t + 6 * t**2))[:, None]
    ds = (30 * t**2 * (1 - t) ** 2)[:, None]
    dds = (60 * t * (1 - t) * (1 - 2 * t))[:, None]
    rows = [(a + s * (b - a), ds * (b - a), dds * (b - a)) for a, b in pairwise(ends)]
    parts = [rows[0]] + [tuple(column[1:] for column in row) for row in rows[1:]]
    position, velocity, acceleration = (np.vstack(columns) for columns in zip(*parts, strict=True))
    times = np.linspace(0.0, len(rows), len(position))
    return Trajectory(FR3.arm.joints, times, position, velocity, acceleration)


def verdict(trajectory: Trajectory, width: float | None = None, checker: PathChecker = CHECKER) -> str:
    return checker.check(*postures(trajectory, CONFIG), width)


def above(x: float, y: float, z: float) -> np.ndarray:
    q = solve_ik(RobotModel(FR3), (x, y, z), down_quat(), HOME).q
    assert q is not None
    return q


@settings(max_examples=40, deadline=None)
@given(
    ends=st.lists(st.tuples(*[st.floats(-0.4, 0.4)] * 7), min_size=2, max_size=4),
    points=st.sampled_from([2, 3, 10, 60]),
)
def test_no_joint_goes_further_than_a_step_between_two_postures(ends, points):
    trajectory = line(*(HOME + np.array(end) for end in ends), points=points)
    times, positions = postures(trajectory, CONFIG)
    assert np.abs(np.diff(positions, axis=0)).max(initial=0.0) <= CONFIG.step_rad
    assert (times[0], times[-1]) == (0.0, trajectory.times[-1])
    assert np.abs(positions - [trajectory.sample(t).position for t in times]).max() < 1e-9
    assert (np.diff(times) > 0).all()


def test_a_path_too_long_to_check_is_refused_and_not_checked_coarsely():
    there, back = HOME.copy(), HOME.copy()
    there[0], back[0] = -2.5, 2.5
    with pytest.raises(Refused, match="too long to be checked for collisions at once"):
        postures(line(*[there, back] * 25), CONFIG)


def test_a_free_motion_passes():
    assert verdict(line(HOME, HOME + 0.2)) == ""


def test_a_motion_into_the_table_is_refused_with_both_bodies_and_the_time():
    low = above(0.5, 0.0, 0.1) + np.array([0, 0.25, 0, 0, 0, 0, 0])
    text = verdict(line(HOME, low))
    assert text.startswith("collision 0.")
    assert "finger with table, " in text
    assert text.endswith("mm deep there (limit 2 mm)")


def test_a_motion_through_the_table_that_ends_free_is_refused():
    under = above(0.5, 0.0, 0.1) + np.array([0, 0.25, 0, 0, 0, 0, 0])
    assert " with table, " in verdict(line(HOME, under, HOME))


def test_a_motion_into_itself_is_refused():
    folded = HOME.copy()
    folded[3], folded[5] = -3.0, 0.6
    assert "fr3_" in verdict(line(HOME, folded))
    assert "table" not in verdict(line(HOME, folded))


def test_grasping_on_the_table_passes():
    hover, grasp = above(0.5, 0.1, 0.15), above(0.5, 0.1, 0.02)
    for width in (0.08, 0.03):
        assert verdict(line(hover, grasp, hover), width) == ""


def test_an_arm_that_touches_the_table_may_leave_it_but_not_press_on():
    touching = above(0.5, 0.0, -0.01)
    assert "table" in verdict(line(HOME, touching))
    assert verdict(line(touching, HOME)) == ""
    deeper = above(0.5, 0.0, -0.03)
    assert "table" in verdict(line(touching, deeper))


def test_keep_out_boxes_of_the_configuration_are_kept_out():
    box = Box(lower=(0.1, 0.15, 0.3), upper=(0.3, 0.35, 0.7))
    config = CONFIG.model_copy(update={"keep_out": {"shelf": box}})
    assert list(keep_out(FR3, config)) == ["table", "shelf"]
    turned = HOME.copy()
    turned[0] = 0.9
    assert verdict(line(HOME, turned)) == ""
    assert " with shelf, " in verdict(line(HOME, turned), checker=PathChecker(FR3, config))


def test_the_worker_answers_the_newest_question_only():
    started, go_on, woken = threading.Event(), threading.Event(), threading.Event()

    def check(times, positions, width, wanted):
        started.set()
        assert go_on.wait(10.0)
        return "" if wanted() else "no longer wanted"

    worker = CheckWorker(check, woken.set)
    nothing = np.zeros((1, 7))
    worker.ask(1, np.zeros(1), nothing, None)
    assert started.wait(10.0)
    worker.ask(2, np.zeros(1), nothing, None)
    go_on.set()
    assert woken.wait(10.0)
    assert worker.answer() == (2, "")
    assert worker.answer() is None
    worker.close()


def test_a_question_that_is_forgotten_ends_at_its_next_posture():
    asked, ended = threading.Event(), threading.Event()

    def check(times, positions, width, wanted):
        asked.set()
        deadline = time.monotonic() + 10.0
        while wanted() and time.monotonic() < deadline:
            time.sleep(0.001)
        ended.set()
        return "no longer wanted" if not wanted() else "late"

    worker = CheckWorker(check, lambda: pytest.fail("nobody waits for this"))
    worker.ask(1, np.zeros(1), np.zeros((1, 7)), None)
    assert asked.wait(10.0)
    worker.forget()
    assert ended.wait(10.0)
    worker.close()
    assert worker.answer() is None


def test_a_check_that_fails_is_not_a_pass():
    woken = threading.Event()

    def check(times, positions, width, wanted):
        raise RuntimeError("no model")

    worker = CheckWorker(check, woken.set)
    worker.ask(7, np.zeros(1), np.zeros((1, 7)), None)
    assert woken.wait(10.0)
    assert worker.answer() == (7, "the collision check failed: RuntimeError: no model")
    worker.close()
