"""The arm's and the gripper's controllers, without physics."""

from __future__ import annotations

import numpy as np
import pytest

from pyrua_ros.backends.mujoco.controllers import ArmController, CommandError, GripperController
from pyrua_ros.robot_model import profile
from pyrua_ros.robot_model.trajectory import Trajectory

FR3 = profile.load("fr3")
HOME = np.array(FR3.arm.home)


def ramp(start, end, duration=1.0, names=FR3.arm.joints, begin=0.0):
    u = np.linspace(0.0, 1.0, 11)[:, None]
    step = end - start
    return Trajectory(
        tuple(names),
        begin + u[:, 0] * duration,
        start + step * (10 * u**3 - 15 * u**4 + 6 * u**5),
        step * (30 * u**2 - 60 * u**3 + 30 * u**4) / duration,
        step * (60 * u - 180 * u**2 + 120 * u**3) / duration**2,
    )


def test_it_holds_the_start_until_the_first_command():
    arm = ArmController(FR3, HOME)
    np.testing.assert_array_equal(arm.desired(12.0).position, HOME)
    assert arm.moving is False


def test_a_trajectory_starts_on_arrival_and_rests_at_its_end():
    arm = ArmController(FR3, HOME)
    arm.command(ramp(HOME, HOME + 0.2), now=3.0)
    np.testing.assert_allclose(arm.desired(3.0).position, HOME)
    np.testing.assert_allclose(arm.desired(3.5).position, HOME + 0.1)
    np.testing.assert_allclose(arm.desired(4.1).position, HOME + 0.2)
    np.testing.assert_array_equal(arm.desired(4.1).velocity, np.zeros(7))
    assert arm.moving is False


def test_a_new_trajectory_replaces_the_old_at_once():
    arm = ArmController(FR3, HOME)
    arm.command(ramp(HOME, HOME + 0.2), now=0.0)
    arm.command(ramp(HOME + 0.1, HOME - 0.1), now=0.5)
    np.testing.assert_allclose(arm.desired(1.0).position, HOME)
    np.testing.assert_allclose(arm.desired(2.0).position, HOME - 0.1)


def test_a_trajectory_with_a_start_of_its_own_continues_the_old_one_without_a_step():
    first = ramp(HOME, HOME + 0.2)
    for arrives in (0.44, 0.56):
        arm = ArmController(FR3, HOME)
        arm.command(first, now=0.0)
        rest = first.times[5:] - 0.5, first.positions[5:], first.velocities[5:], first.accelerations[5:]
        arm.command(Trajectory(first.names, *rest), now=arrives, start=0.5)
        for t in np.arange(arrives, 1.1, 0.01):
            np.testing.assert_allclose(arm.desired(t).position, first.sample(t).position, atol=1e-12)
        assert arm.moving is False


def test_hold_before_a_trajectory_has_started_drops_it():
    arm = ArmController(FR3, HOME)
    arm.command(ramp(HOME, HOME + 0.2), now=0.0, start=0.3)
    assert arm.moving is True
    arm.hold(0.2)
    np.testing.assert_array_equal(arm.desired(2.0).position, HOME)


def test_a_start_too_far_ahead_is_refused_and_one_too_long_ago_is_now():
    arm = ArmController(FR3, HOME)
    with pytest.raises(CommandError, match=r"it starts in 0.6 s, more than 0.5 s ahead"):
        arm.command(ramp(HOME, HOME + 0.2), now=1.0, start=1.6)
    arm.command(ramp(HOME, HOME + 0.2), now=9.0, start=1.0)
    np.testing.assert_allclose(arm.desired(9.5).position, HOME + 0.1)


def test_joints_are_matched_by_name_in_any_order():
    arm = ArmController(FR3, HOME)
    order = [3, 0, 6, 2, 5, 1, 4]
    step = 0.01 * np.arange(1, 8)
    names = [FR3.arm.joints[i] for i in order]
    arm.command(ramp(HOME[order], HOME[order] + step[order], names=names), now=0.0)
    np.testing.assert_allclose(arm.desired(5.0).position, HOME + step)


@pytest.mark.parametrize(
    "names", [FR3.arm.joints[:6], (*FR3.arm.joints[:6], "elbow"), (*FR3.arm.joints, "elbow")]
)
def test_a_subset_or_a_foreign_joint_is_refused_and_named(names):
    arm = ArmController(FR3, HOME)
    zeros = np.zeros(len(names))
    with pytest.raises(CommandError, match="expected each of fr3_joint1, "):
        arm.command(ramp(zeros, zeros + 0.1, names=names), now=0.0)
    np.testing.assert_array_equal(arm.desired(1.0).position, HOME)


def test_a_refused_command_leaves_the_running_one_alone():
    arm = ArmController(FR3, HOME)
    arm.command(ramp(HOME, HOME + 0.2), now=0.0)
    bad = ramp(HOME, HOME + 0.1)
    bad.positions[3, 2] = np.nan
    with pytest.raises(CommandError, match="positions are not finite"):
        arm.command(bad, now=0.2)
    np.testing.assert_allclose(arm.desired(0.5).position, HOME + 0.1)


@pytest.mark.parametrize("times", [[0.0, 0.0, 1.0], [0.0, 1.0, 0.5], [-0.1, 0.5, 1.0]])
def test_times_that_do_not_increase_from_zero_are_refused(times):
    points = np.tile(HOME, (3, 1))
    trajectory = Trajectory(FR3.arm.joints, np.array(times), points, 0 * points, 0 * points)
    with pytest.raises(CommandError, match="times do not increase"):
        ArmController(FR3, HOME).command(trajectory, now=0.0)


def test_a_first_point_in_the_future_is_reached_from_the_commanded_state():
    arm = ArmController(FR3, HOME)
    points = HOME[None] + 0.1
    arm.command(Trajectory(FR3.arm.joints, np.array([2.0]), points, 0 * points, 0 * points), now=1.0)
    np.testing.assert_allclose(arm.desired(1.0).position, HOME)
    np.testing.assert_allclose(arm.desired(2.0).position, HOME + 0.05)
    np.testing.assert_allclose(arm.desired(3.0).position, HOME + 0.1)


def test_hold_brakes_from_the_commanded_state_within_the_limits():
    arm = ArmController(FR3, HOME)
    arm.command(ramp(HOME, HOME + 0.4), now=0.0)
    at_fault = arm.desired(0.5)
    arm.hold(now=0.5)
    times = np.arange(0.5, 1.5, 0.002)
    samples = [arm.desired(t) for t in times]
    np.testing.assert_allclose(samples[0].velocity, at_fault.velocity, atol=1e-9)
    accelerations = np.array([s.acceleration for s in samples])
    assert np.all(np.abs(accelerations) <= FR3.max_acceleration + 1e-6)
    np.testing.assert_array_equal(samples[-1].velocity, np.zeros(7))
    stopped = samples[-1].position - at_fault.position
    least = at_fault.velocity**2 / (2 * FR3.max_acceleration)
    assert np.all(stopped >= least - 1e-6)
    assert np.all(stopped <= least + 0.02)


def test_hold_at_rest_keeps_the_place():
    arm = ArmController(FR3, HOME)
    arm.hold(now=1.0)
    assert arm.moving is False
    np.testing.assert_array_equal(arm.desired(2.0).position, HOME)


@pytest.mark.parametrize(
    ("width", "force", "match"),
    [
        (0.2, None, "width 0.2 m is not within 0 to 0.08 m"),
        (-0.01, None, "width"),
        (float("nan"), None, "width"),
        (0.0, 0.0, "force"),
        (0.0, 200.0, "force 200 N is not within 0 to 70 N"),
        (0.0, float("nan"), "force"),
    ],
)
def test_a_gripper_command_out_of_range_is_refused(width, force, match):
    gripper = GripperController(FR3, 20000.0)
    with pytest.raises(CommandError, match=match):
        gripper.command(width, force)
    assert gripper.setpoint(0.04, 0.002) == (0.04, 0.0)


def test_the_gripper_moves_at_its_speed_and_stops_at_the_width():
    gripper = GripperController(FR3, 20000.0)
    gripper.command(0.06, None)
    opening = 0.04
    openings = []
    for _ in range(200):
        opening, rate = gripper.setpoint(opening, 0.002)
        assert abs(rate) <= FR3.gripper.speed / 2 + 1e-9
        openings.append(opening)
    assert openings[49] == pytest.approx(0.04 - 0.1 * FR3.gripper.speed / 2)
    assert openings[-1] == pytest.approx(0.03)


def test_a_grasp_does_not_wind_up_against_an_object():
    gripper = GripperController(FR3, 20000.0)
    gripper.command(0.0, 40.0)
    for _ in range(2000):
        setpoint, _ = gripper.setpoint(0.02, 0.002)
    assert 0.02 - setpoint == pytest.approx(2 * 40.0 / 20000.0 + 0.002)
    assert gripper.force == 40.0
