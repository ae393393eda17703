"""The built-in planner reaches what is free, and says in a sentence why it does not reach the rest."""

import numpy as np
import pytest

from pyrua_ros.motion.builtin import MARGIN_M, BuiltinPlanner
from pyrua_ros.motion.goals import JointGoal, PoseGoal
from pyrua_ros.motion.planner import PlanFailure
from pyrua_ros.motion.timing import along
from pyrua_ros.robot_model.collision import CollisionChecker, fill
from pyrua_ros.robot_model.ik import solve_ik
from pyrua_ros.robot_model.limits import evaluate, usage
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.rotations import angle_between, down_quat
from pyrua_ros.robot_model.scene import HeldBox, Obstacle, Scene
from pyrua_ros.robot_model.trajectory import Trajectory


def _planned(plan: Trajectory | PlanFailure) -> Trajectory:
    assert isinstance(plan, Trajectory), plan
    return plan


def _failed(plan: Trajectory | PlanFailure) -> PlanFailure:
    assert isinstance(plan, PlanFailure)
    return plan


def test_it_reaches_poses_all_over_the_table_free_and_within_the_limits(
    planner: BuiltinPlanner, model: RobotModel, checker: CollisionChecker, profile: RobotProfile
) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        goal = PoseGoal(
            rng.uniform([0.35, -0.3, 0.05], [0.65, 0.3, 0.4]), down_quat(yaw=rng.uniform(-0.7, 0.7))
        )
        trajectory = _planned(planner.plan(goal, profile.arm.home))
        xyz, quat = model.fk(trajectory.end)
        assert np.linalg.norm(xyz - goal.xyz) < 1e-4
        assert angle_between(quat, goal.quat) < 1e-3
        motion = evaluate(trajectory, per_segment=31)
        used = usage(motion, profile.arm.limits)
        assert max(used.velocity, used.acceleration, used.jerk) <= 1.0
        assert checker.check_path(motion.position[::7]) is None


def test_equal_questions_get_equal_answers(planner: BuiltinPlanner, profile: RobotProfile) -> None:
    goal = PoseGoal(np.array([0.45, 0.2, 0.2]), down_quat(0.4))
    first, second = (_planned(planner.plan(goal, profile.arm.home)) for _ in range(2))
    assert (first.positions == second.positions).all()
    assert (first.times == second.times).all()


def test_a_joint_goal_is_reached_exactly(planner: BuiltinPlanner, profile: RobotProfile) -> None:
    q = np.array(profile.arm.home) + 0.2
    assert _planned(planner.plan(JointGoal(q), profile.arm.home)).end == pytest.approx(q, abs=1e-12)


def test_the_fingers_may_go_down_to_the_table_but_not_into_it(
    planner: BuiltinPlanner, profile: RobotProfile
) -> None:
    _planned(planner.plan(PoseGoal(np.array([0.5, 0.0, 0.010])), profile.arm.home))
    failure = _failed(planner.plan(PoseGoal(np.array([0.5, 0.0, 0.004])), profile.arm.home))
    assert failure.detail == "goal"
    assert failure.reason.startswith("no path: the goal collides: fr3_")
    assert "finger with table (5 mm deep)" in failure.reason


def test_a_point_inside_the_table_says_so(planner: BuiltinPlanner, profile: RobotProfile) -> None:
    failure = _failed(planner.plan(PoseGoal(np.array([0.5, 0.0, -0.015])), profile.arm.home))
    assert failure.detail == "goal"
    assert failure.reason == "no path: the goal is 15 mm inside the table, whose top is at z = 0 m"


def test_a_pose_that_no_posture_reaches_is_a_failure_not_an_error(
    planner: BuiltinPlanner, profile: RobotProfile
) -> None:
    failure = _failed(planner.plan(PoseGoal(np.array([0.8, 0.7, 1.0])), profile.arm.home))
    assert failure.detail == "unreachable"
    assert "fr3_hand_tcp at (0.800, 0.700, 1.000) m" in failure.reason


@pytest.fixture(scope="module")
def sides(model: RobotModel, profile: RobotProfile) -> tuple[np.ndarray, np.ndarray]:
    """Postures left and right of the wall."""
    left = solve_ik(model, [0.5, 0.3, 0.2], down_quat(), profile.arm.home).q
    right = solve_ik(model, [0.5, -0.3, 0.2], down_quat(), profile.arm.home).q
    assert left is not None and right is not None
    return left, right


WALL = Scene((Obstacle("wall", (0.5, 0.0, 0.2), (0.25, 0.04, 0.4)),))


def test_it_goes_round_a_wall_with_a_margin_and_does_not_stop_on_the_way(
    planner: BuiltinPlanner,
    model: RobotModel,
    checker: CollisionChecker,
    profile: RobotProfile,
    sides: tuple[np.ndarray, np.ndarray],
) -> None:
    left, right = sides
    checker.set_scene(WALL)
    assert checker.check_path(fill([left, right], 0.01)) is not None
    trajectory = _planned(planner.plan(JointGoal(right), left, scene=WALL))
    assert trajectory.end == pytest.approx(right, abs=1e-9)
    dense = along(trajectory, 0.002)
    assert checker.check_path(dense, margin_m=MARGIN_M) is None
    motion = evaluate(trajectory, per_segment=31)
    used = usage(motion, profile.arm.limits)
    assert max(used.velocity, used.acceleration, used.jerk) <= 1.0
    between = (motion.times > 0.1) & (motion.times < trajectory.duration - 0.1)
    assert np.abs(motion.velocity[between]).max(axis=1).min() > 0.1


def test_a_pose_behind_the_wall_is_reached_too_and_equal_questions_get_equal_ways(
    planner: BuiltinPlanner, model: RobotModel, sides: tuple[np.ndarray, np.ndarray]
) -> None:
    goal = PoseGoal(np.array([0.5, -0.3, 0.2]))
    first, second = (_planned(planner.plan(goal, sides[0], scene=WALL)) for _ in range(2))
    assert model.fk(first.end)[0] == pytest.approx(goal.xyz, abs=1e-4)
    assert (first.positions == second.positions).all()
    assert (first.times == second.times).all()


def test_a_straight_line_through_a_wall_names_both_bodies_and_the_depth(
    planner: BuiltinPlanner, sides: tuple[np.ndarray, np.ndarray]
) -> None:
    goal = PoseGoal(np.array([0.5, -0.3, 0.2]), straight=True)
    failure = _failed(planner.plan(goal, sides[0], scene=WALL))
    assert failure.detail == "path"
    assert "the straight line collides after" in failure.reason
    assert "with wall (" in failure.reason
    assert "mm deep)" in failure.reason
    # The next question knows nothing of the wall.
    _planned(planner.plan(goal, sides[0]))


def test_where_there_is_no_way_round_it_says_what_is_in_the_way(
    model: RobotModel, checker: CollisionChecker, profile: RobotProfile
) -> None:
    planner = BuiltinPlanner(model, checker, profile, deadline_s=0.3)
    cage = Scene(
        (
            Obstacle("front", (0.65, 0.0, 0.5), (1.0, 0.02, 3.0)),
            Obstacle("back", (-0.65, 0.0, 0.5), (1.0, 0.02, 3.0)),
        )
    )
    left, right = np.array(profile.arm.home), np.array(profile.arm.home)
    left[0], right[0] = 1.0, -1.0
    failure = _failed(planner.plan(JointGoal(right), left, scene=cage))
    assert failure.detail == "path"
    assert "no path: the straight joint path collides after" in failure.reason
    assert "fr3_link3 with back (" in failure.reason
    assert failure.reason.endswith("; no way round was found in 0.3 s")


def test_what_is_held_is_kept_off_the_table_and_obstacles(
    planner: BuiltinPlanner, model: RobotModel, checker: CollisionChecker, profile: RobotProfile
) -> None:
    held = HeldBox((0.0, 0.0, 0.03), (0.04, 0.04, 0.1))  # reaches 8 cm below the end effector
    grasped = solve_ik(model, [0.5, 0.0, 0.08], down_quat(), profile.arm.home).q
    assert grasped is not None
    step = Obstacle("step", (0.5, 0.2, 0.05), (0.2, 0.1, 0.1))
    scene = Scene((step,), held, gripper_width=0.04)
    # It stands on the table, can be lifted from it, and put down again.
    lifted = _planned(planner.plan(PoseGoal(np.array([0.5, 0.0, 0.25]), straight=True), grasped, scene=scene))
    _planned(planner.plan(PoseGoal(np.array([0.45, -0.1, 0.08])), lifted.end, scene=scene))
    deep = _failed(planner.plan(PoseGoal(np.array([0.5, 0.0, 0.06])), lifted.end, scene=scene))
    assert "held object with table (20 mm deep)" in deep.reason
    # Empty fingers pass above the step where what they hold would not.
    low = PoseGoal(np.array([0.5, 0.35, 0.15]), straight=True)
    start = solve_ik(model, [0.5, 0.0, 0.15], down_quat(), profile.arm.home).q
    assert start is not None
    _planned(planner.plan(low, start, scene=Scene((step,), gripper_width=0.04)))
    assert "held object with step" in _failed(planner.plan(low, start, scene=scene)).reason
    over = _planned(planner.plan(PoseGoal(low.xyz), start, scene=scene))
    checker.set_scene(scene)
    assert checker.check_path(along(over, 0.005), margin_m=0.009) is None


def test_an_arm_that_already_touches_the_table_can_leave_it(
    planner: BuiltinPlanner, model: RobotModel, checker: CollisionChecker, profile: RobotProfile
) -> None:
    sunk = solve_ik(model, [0.5, 0.0, 0.005], down_quat(), profile.arm.home).q
    assert sunk is not None
    assert checker.check(sunk) is not None
    lifted = _planned(planner.plan(PoseGoal(np.array([0.5, 0.0, 0.1]), straight=True), sunk))
    assert checker.check(lifted.end) is None
    deeper = planner.plan(PoseGoal(np.array([0.5, 0.0, -0.01]), straight=True), sunk)
    assert isinstance(deeper, PlanFailure)


def test_a_path_that_would_swing_the_hand_out_of_the_workspace_stays_inside(
    planner: BuiltinPlanner, model: RobotModel, profile: RobotProfile
) -> None:
    start = solve_ik(model, [0.18, 0.74, 0.5], down_quat(yaw=1.3, pitch=1.2), profile.arm.home).q
    assert start is not None
    end = start.copy()
    end[0] += 2 * np.arctan(0.18 / 0.74)  # mirrored: (-0.18, 0.74), on a circle of 0.762 m
    assert model.eef_positions(fill([start, end], 0.01))[:, 1].max() > 0.76
    trajectory = _planned(planner.plan(JointGoal(end), start))
    assert model.eef_positions(along(trajectory, 0.005))[:, 1].max() <= 0.751


def test_a_start_a_hair_outside_its_limit_still_plans(planner: BuiltinPlanner, profile: RobotProfile) -> None:
    q = np.array(profile.arm.home)
    q[4] = profile.position_upper[4] + 1e-6
    trajectory = _planned(planner.plan(JointGoal(np.array(profile.arm.home)), q))
    assert trajectory.positions[0, 4] == profile.position_upper[4]


def test_a_start_far_outside_its_limit_is_an_error_that_names_the_joint(
    planner: BuiltinPlanner, profile: RobotProfile
) -> None:
    q = np.array(profile.arm.home)
    q[4] = profile.position_upper[4] + 0.05
    with pytest.raises(ValueError, match=r"fr3_joint5 .* 0.0500 rad outside its limits"):
        planner.plan(JointGoal(np.array(profile.arm.home)), q)


def test_misuse_raises_before_anything_is_planned(planner: BuiltinPlanner, profile: RobotProfile) -> None:
    far = PoseGoal(np.array([3.0, 0.0, 0.2]))
    with pytest.raises(ValueError, match="outside the workspace"):
        planner.plan(far, profile.arm.home)
    with pytest.raises(ValueError, match="speed"):
        planner.plan(JointGoal(np.array(profile.arm.home)), profile.arm.home, speed=0.0)
    with pytest.raises(ValueError, match="the start must be 7 finite numbers"):
        planner.plan(JointGoal(np.array(profile.arm.home)), [0.0] * 6)
