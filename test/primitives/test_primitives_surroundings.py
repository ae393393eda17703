"""Obstacles and what is held become the scene that motions respect."""

from types import SimpleNamespace

import numpy as np
import pytest

from pyrua_ros.primitives.body import Body
from pyrua_ros.primitives.surroundings import Surroundings
from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.robot_model.collision import CollisionChecker
from pyrua_ros.robot_model.ik import solve_ik
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.rotations import down_quat

FR3 = profiles.load("fr3")
HOME = np.array(FR3.arm.home)


@pytest.fixture()
def surroundings() -> Surroundings:
    joints = SimpleNamespace(arm=HOME, fingers=np.array([0.04, 0.04]), require=lambda track: track)
    return Surroundings(joints, Body(FR3), FR3)  # type: ignore[arg-type]


def test_an_obstacle_of_the_same_name_replaces_the_first_and_clear_forgets(
    surroundings: Surroundings,
) -> None:
    surroundings.add_box("box", np.array([0.5, 0.0, 0.1]), np.array([0.1, 0.1, 0.2]), 0.0)
    surroundings.add_box("box", np.array([0.6, 0.0, 0.1]), np.array([0.1, 0.1, 0.2]), 0.3)
    (box,) = surroundings.scene(HOME, 0.08).obstacles
    assert (box.xyz, box.size, box.yaw) == ((0.6, 0.0, 0.1), (0.1, 0.1, 0.2), 0.3)
    surroundings.clear()
    assert surroundings.scene(HOME, 0.08).obstacles == ()


def test_points_become_boxes_without_the_table_and_the_robot(surroundings: Surroundings) -> None:
    cube = np.stack(np.meshgrid(*[np.linspace(-0.04, 0.04, 9)] * 3), axis=-1).reshape(-1, 3)
    thing = cube + [0.5, 0.4, 0.05]
    table = np.stack(np.meshgrid(np.linspace(0.3, 0.7, 30), np.linspace(-0.4, 0.4, 30), [0.005]), -1)
    hand, _ = RobotModel(FR3).fk(HOME, "fr3_hand")
    surroundings.add_points("cloud", np.vstack([thing, table.reshape(-1, 3), cube / 2 + hand]))
    boxes = surroundings.scene(HOME, 0.08).obstacles
    assert 1 <= len(boxes) <= 9
    lower = np.min([np.subtract(box.xyz, np.divide(box.size, 2)) for box in boxes], axis=0)
    upper = np.max([np.add(box.xyz, np.divide(box.size, 2)) for box in boxes], axis=0)
    assert (lower > [0.42, 0.32, -0.01]).all() and (lower < [0.461, 0.361, 0.016]).all()
    assert (upper < [0.58, 0.48, 0.13]).all() and (upper > [0.539, 0.439, 0.089]).all()


def test_what_the_fingers_closed_on_reaches_down_to_the_table_and_moves_with_the_hand(
    surroundings: Surroundings,
) -> None:
    model = RobotModel(FR3)
    down = solve_ik(model, [0.5, 0.1, 0.04], down_quat(), HOME).q
    assert down is not None
    assert surroundings.scene(down, 0.08).held is None
    surroundings.grip(0.03)
    held = surroundings.scene(down, 0.03).held
    assert held is not None
    assert held.size == pytest.approx((0.03, 0.03, 0.045), abs=1e-4)
    assert held.xyz_in_eef[2] + held.size[2] / 2 == pytest.approx(0.035, abs=1e-4)
    scene = surroundings.scene(HOME, 0.03)
    assert scene.held == held
    assert scene.gripper_width == 0.03
    checker = CollisionChecker(model)
    checker.set_scene(scene)
    assert checker.check(down) is None
    surroundings.grip(None)
    assert surroundings.scene(HOME, 0.08).held is None
