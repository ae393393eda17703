"""The physics: what the hand holds, what falls, how well the arm follows."""

from __future__ import annotations

import numpy as np
import pytest

from pyrua_ros.robot_model import profile
from pyrua_ros.robot_model.rotations import quat_to_matrix

FR3 = profile.load("fr3")
SWING = np.array([0.5, 0.15, 0.2, 0.15, 0.5, 0.3, 0.5])


def upright(world, name):
    return quat_to_matrix(world.body_pose(name)[1])[2, 2]


def test_it_starts_at_home_with_an_open_hand_and_objects_at_rest_on_the_table(driver):
    state = driver.world.robot_state()
    assert state.names == (*FR3.arm.joints, *FR3.gripper.joints)
    assert state.time == 0.0
    np.testing.assert_allclose(state.position[:7], FR3.arm.home, atol=1e-3)
    np.testing.assert_allclose(state.position[7:], 0.04, atol=1e-4)
    for name, item in driver.world.scene.objects.items():
        assert driver.world.body_pose(name)[0][2] == pytest.approx(item.height, abs=5e-4)
        assert upright(driver.world, name) == pytest.approx(1.0, abs=1e-4)


def test_kinematics_of_the_urdf_and_of_the_simulation_agree(driver):
    driver.go(np.array(FR3.arm.home) + SWING)
    q = driver.world.robot_state().position[:7]
    for link in ("fr3_hand", "fr3_link4"):
        expected = driver.kinematics.link_pose(q, link)
        xyz, quat = driver.world.body_pose(link)
        np.testing.assert_allclose(xyz, expected[:3, 3], atol=1e-4)
        np.testing.assert_allclose(quat_to_matrix(quat), expected[:3, :3], atol=1e-4)


def test_the_arm_follows_a_motion_at_its_limits_within_two_milliradians(driver):
    driver.world.record.reset()
    driver.go(np.array(FR3.arm.home) + 2 * SWING)
    record = driver.world.record.as_dict()
    assert max(np.array(record["commanded_velocity"]) / FR3.max_velocity) > 0.5
    assert max(record["tracking_error"]) < 2e-3
    np.testing.assert_allclose(
        driver.world.robot_state().position[:7], np.array(FR3.arm.home) + 2 * SWING, atol=5e-4
    )


def test_a_milliradian_of_commanded_motion_is_measured_within_five_milliseconds(driver):
    start = driver.commanded.copy()
    trajectory = driver.between(start, start + [0.3, 0, 0, 0, 0, 0, 0])
    due = next(t for t in np.arange(0, 1, 1e-3) if abs(trajectory.sample(t).position[0] - start[0]) > 1e-3)
    begin = driver.world.time
    driver.world.arm.command(trajectory, begin)
    while abs(driver.world.robot_state().position[0] - start[0]) < 1e-3:
        driver.world.step()
        assert driver.world.time - begin < due + 0.005


@pytest.mark.parametrize("name", ["red_cube", "green_cylinder"])
@pytest.mark.parametrize("force", [10.0, 60.0])
def test_a_grasped_object_is_lifted_and_stays_in_the_hand_through_shaking(driver, name, force):
    start = driver.grasp(name, force)
    assert driver.width == pytest.approx(0.04, abs=1e-3)
    driver.reach(start + [0.0, 0.0, 0.2])
    assert driver.world.body_pose(name)[0][2] - start[2] == pytest.approx(0.2, abs=2e-3)
    before = driver.in_hand(name)
    middle = driver.commanded.copy()
    for _ in range(2):
        driver.go(middle + SWING)
        driver.go(middle - SWING)
    driver.go(middle)
    assert np.linalg.norm(driver.in_hand(name) - before) < 8e-3
    driver.run(5.0)
    assert np.linalg.norm(driver.in_hand(name) - before) < 8e-3


def test_an_opened_hand_drops_what_it_held(driver):
    start = driver.grasp("red_cube")
    driver.reach(start + [0.0, 0.0, 0.1])
    driver.world.gripper.command(0.08, None)
    driver.run(1.0)
    assert driver.world.body_pose("red_cube")[0][2] == pytest.approx(start[2], abs=2e-3)
    assert driver.width == pytest.approx(0.08, abs=1e-3)


def test_closing_on_nothing_ends_at_width_zero_with_the_asked_force(driver):
    driver.world.gripper.command(0.03, 20.0)
    driver.run(1.2)
    assert driver.width == pytest.approx(0.0, abs=5e-4)
    assert driver.world.robot_state().effort[7:].sum() == pytest.approx(-40.0, abs=1.0)


def test_the_hand_closes_at_its_speed(driver):
    driver.world.gripper.command(0.0, None)
    driver.run(0.4)
    assert driver.width == pytest.approx(0.08 - 0.4 * FR3.gripper.speed, abs=2e-3)


def test_a_move_goes_to_the_width_and_stops_there(driver):
    driver.world.gripper.command(0.05, None)
    driver.run(0.8)
    assert driver.width == pytest.approx(0.05, abs=5e-4)


def test_a_force_presses_no_harder_than_asked(driver):
    driver.grasp("red_cube", 15.0)
    np.testing.assert_allclose(driver.world.robot_state().effort[7:], -15.0, atol=0.5)


def test_a_cube_let_go_above_the_bowl_rests_in_it(driver):
    from pyrua_ros.backends.mujoco import predicates

    assert predicates.score(driver.world)[0] is False
    start = driver.grasp("red_cube")
    bowl = driver.world.body_pose("bowl")[0]
    driver.reach(start + [0.0, 0.0, 0.2])
    driver.reach(bowl + [0.0, 0.0, 0.2])
    driver.reach(bowl + [0.0, 0.0, 0.12])
    success, detail = predicates.score(driver.world)
    assert (success, detail["released(red_cube)"]) == (False, False)
    driver.world.gripper.command(0.08, None)
    driver.run(2.0)
    assert predicates.score(driver.world) == (
        True,
        {"inside(red_cube, bowl_interior)": True, "at_rest(red_cube)": True, "released(red_cube)": True},
    )
    assert np.linalg.norm(driver.world.body_pose("bowl")[0] - bowl) < 0.02


def test_a_cube_beside_the_bowl_is_no_success(driver):
    from pyrua_ros.backends.mujoco import predicates

    success, detail = predicates.score(driver.world)
    assert success is False
    assert detail["inside(red_cube, bowl_interior)"] is False
    assert detail["at_rest(red_cube)"] is True


def test_the_same_seed_gives_the_same_world(driver):
    world = driver.world
    poses = {}
    for seed in (7, 8, 7):
        world.reset(seed)
        driver.run(0.1)
        poses.setdefault(seed, []).append(np.array([world.body_pose(n)[0] for n in world.scene.objects]))
    np.testing.assert_array_equal(poses[7][0], poses[7][1])
    assert np.max(np.abs(poses[7][0] - poses[8][0])) > 0.01
