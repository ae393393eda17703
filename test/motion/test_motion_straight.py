"""Straight lines are straight, and a line that would need another branch is refused."""

import re

import numpy as np
import pytest

from pyrua_ros.motion import straight
from pyrua_ros.motion.builtin import BuiltinPlanner
from pyrua_ros.motion.goals import PoseGoal
from pyrua_ros.motion.planner import PlanFailure
from pyrua_ros.robot_model.ik import solve_ik
from pyrua_ros.robot_model.limits import evaluate, usage
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.rotations import angle_between, down_quat, slerp
from pyrua_ros.robot_model.trajectory import Trajectory

ABOVE = np.array([0.5, 0.1, 0.3])


@pytest.fixture(scope="module")
def above(model: RobotModel, profile: RobotProfile) -> np.ndarray:
    q = solve_ik(model, ABOVE, down_quat(), profile.arm.home).q
    assert q is not None
    return q


@pytest.mark.parametrize(
    "shift, turn", [([0, 0, -0.27], 0.0), ([0.1, -0.25, 0.1], 0.8), ([-0.1, 0.15, 0], -0.5), ([0, 0, 0], 1.0)]
)
def test_the_end_effector_stays_within_a_millimetre_of_the_line(
    planner: BuiltinPlanner,
    model: RobotModel,
    profile: RobotProfile,
    above: np.ndarray,
    shift: list[float],
    turn: float,
) -> None:
    end, quat = ABOVE + shift, down_quat(yaw=turn)
    trajectory = planner.plan(PoseGoal(end, quat, straight=True), above)
    assert isinstance(trajectory, Trajectory)
    used = usage(evaluate(trajectory, per_segment=31), profile.arm.limits)
    assert max(used.velocity, used.acceleration, used.jerk) <= 1.0
    length = float(np.linalg.norm(shift))
    for t in np.linspace(0, trajectory.duration, 60):
        xyz, orientation = model.fk(trajectory.sample(t).position)
        if length == 0:
            assert np.linalg.norm(xyz - ABOVE) < 1e-3
            continue
        along = (xyz - ABOVE) @ np.array(shift) / length
        assert np.linalg.norm(xyz - ABOVE - along * np.array(shift) / length) < 1e-3
        assert angle_between(orientation, slerp(down_quat(), quat, along / length)) < 0.01
    reached, orientation = model.fk(trajectory.end)
    assert reached == pytest.approx(end, abs=1e-4)
    assert angle_between(orientation, quat) < 1e-3


def test_two_poses_on_different_branches_are_refused_before_anything_moves(
    planner: BuiltinPlanner, model: RobotModel, above: np.ndarray
) -> None:
    first = planner.plan(PoseGoal(ABOVE, down_quat(yaw=-1.5), straight=True), above)
    assert isinstance(first, Trajectory)
    # Reachable, but only with joint 7 turned the other way round.
    there = PoseGoal(ABOVE, down_quat(yaw=-3.0), straight=True)
    other_branch = solve_ik(model, there.xyz, there.quat, first.end).q
    assert other_branch is not None
    assert np.abs(other_branch - first.end).max() > 1.5
    failure = planner.plan(there, first.end)
    assert isinstance(failure, PlanFailure)
    assert failure.detail == "branch"
    assert re.search(r"no straight path: after \d+ % of the 1.50 rad turn fr3_joint\d", failure.reason)


def test_a_step_that_jumps_names_the_joint(
    model: RobotModel, above: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(straight, "JUMP_RAD", 0.002)
    failure = straight.straight_line(model, above, ABOVE + [0, 0, -0.2], down_quat())
    assert isinstance(failure, PlanFailure)
    assert failure.detail == "branch"
    assert re.search(r"after 2 % of the 0.200 m line fr3_joint\d would jump by 0.0\d rad", failure.reason)


def test_steps_are_short_and_stay_on_one_branch(model: RobotModel, above: np.ndarray) -> None:
    line = straight.straight_line(model, above, ABOVE + [0, 0, -0.2], down_quat())
    assert isinstance(line, np.ndarray)
    assert len(line) == 0.2 / straight.STEP_M + 1
    assert np.abs(np.diff(line, axis=0)).max() < 0.05


def test_a_line_out_of_reach_says_how_far_it_gets(model: RobotModel, above: np.ndarray) -> None:
    failure = straight.straight_line(model, above, [1.2, 0.1, 0.3], down_quat())
    assert isinstance(failure, PlanFailure)
    assert "% of the 0.700 m line" in failure.reason


def test_lines_that_graze_a_joint_limit_stay_inside_between_their_points(
    planner: BuiltinPlanner, profile: RobotProfile
) -> None:
    rng = np.random.default_rng(0)
    q, grazed, drawn = np.array(profile.arm.home), 0, 0
    for i in range(80):
        goal = PoseGoal(
            rng.uniform([0.3, -0.4, 0.02], [0.7, 0.4, 0.5]),
            down_quat(rng.uniform(-1.5, 1.5)),
            straight=bool(i % 2),
        )
        plan = planner.plan(goal, q)
        if isinstance(plan, PlanFailure):
            continue
        motion = evaluate(plan, per_segment=31)
        assert usage(motion, profile.arm.limits).outside_rad <= 1e-6
        margin = np.minimum(
            motion.position - profile.position_lower, profile.position_upper - motion.position
        )
        grazed += bool(goal.straight and margin.min() < 0.05)
        drawn += goal.straight
        q = plan.end
    assert drawn > 30
    assert grazed > 0
