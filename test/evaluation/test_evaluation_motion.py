"""The motion bench measures what it says, and the gate passes what the planner plans."""

import numpy as np
import pytest

from pyrua_ros.evaluation.motion import _Dense, draw, measure
from pyrua_ros.gate.config import load as gate_config
from pyrua_ros.gate.limits import LimitChecker
from pyrua_ros.motion.builtin import BuiltinPlanner
from pyrua_ros.motion.goals import JointGoal, PoseGoal
from pyrua_ros.motion.timing import time_path
from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.robot_model.collision import CollisionChecker, fill
from pyrua_ros.robot_model.ik import solve_ik
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.rotations import down_quat
from pyrua_ros.robot_model.scene import Obstacle, Scene
from pyrua_ros.robot_model.trajectory import Trajectory

FR3 = profiles.load("fr3")


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel(FR3)


def test_the_figures_meet_what_is_promised() -> None:
    figures = measure("fr3", seed=7, poses=60, problems=4)
    assert figures.ik_success >= 0.98
    assert (figures.plans_solved, figures.plans_tried) == (4, 4)
    assert figures.unsafe_paths == 0
    assert figures.least_clearance_mm >= 10
    assert 1.0 <= figures.duration_ratio_median <= figures.duration_ratio <= 1.25
    assert max(figures.jerk_share, figures.limit_share) <= 1.0
    assert len(figures.rows) == 4
    assert "rows" not in figures.as_dict()


def test_every_problem_is_one_that_the_direct_path_runs_into(model: RobotModel) -> None:
    rng = np.random.default_rng(3)
    checker = CollisionChecker(model)
    for _ in range(5):
        problem = draw(model, rng)
        checker.set_scene(problem.scene)
        assert checker.check_path(fill([problem.start, problem.goal], 0.02)) is not None
        assert not checker.contacts(problem.start) and not checker.contacts(problem.goal)


def test_the_dense_check_sees_a_path_through_a_box_and_one_that_passes_close(model: RobotModel) -> None:
    left = solve_ik(model, [0.5, 0.3, 0.3], down_quat(), FR3.arm.home).q
    right = solve_ik(model, [0.5, -0.3, 0.3], down_quat(), FR3.arm.home).q
    assert left is not None and right is not None
    through = time_path([left, right], FR3)
    wall = Scene((Obstacle("wall", (0.55, 0.0, 0.2), (0.2, 0.02, 0.4)),))
    assert _Dense(FR3, wall).inspect(through)[0] < 0
    free = _Dense(FR3, Scene()).inspect(through)
    assert free[0] > 0.05
    assert free[1] is False


def test_the_gate_passes_fifty_random_plans(model: RobotModel) -> None:
    gate = LimitChecker(FR3, gate_config().limits, lambda q: model.fk(q)[0])
    planner = BuiltinPlanner(model, CollisionChecker(model), FR3)
    rng = np.random.default_rng(11)
    q, planned, lines, ways = np.array(FR3.arm.home), 0, 0, 0
    while planned < 50:
        speed = float(rng.uniform(0.2, 1.0))
        xyz = rng.uniform([0.35, -0.35, 0.1], [0.65, 0.35, 0.5])
        straight = bool(rng.random() < 0.3)
        if planned % 5 == 4:
            problem = draw(model, rng)
            plan = planner.plan(JointGoal(problem.goal), problem.start, speed=speed, scene=problem.scene)
            ways += 1
        else:
            goal = PoseGoal(xyz, down_quat(rng.uniform(-0.8, 0.8)), straight=straight)
            plan = planner.plan(goal, q, speed=speed)
        if not isinstance(plan, Trajectory):
            assert straight, plan
            continue
        gate.check(plan)
        planned, lines, q = planned + 1, lines + straight, plan.end
    assert lines >= 8 and ways >= 10
