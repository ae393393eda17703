"""Contacts are named, neighbours are not reported, and fingers may touch the table."""

from itertools import pairwise

import numpy as np
import pytest

from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.robot_model.assets import AssetError
from pyrua_ros.robot_model.collision import CollisionChecker, fill
from pyrua_ros.robot_model.ik import solve_ik
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.profile import Box, RobotProfile
from pyrua_ros.robot_model.rotations import down_quat
from pyrua_ros.robot_model.scene import HeldBox, Obstacle, Scene

FINGERTIP_BELOW_TCP_M = 0.0584 + 0.04525 + 0.0185 / 2 - 0.1034


@pytest.fixture(scope="module")
def checker(model: RobotModel) -> CollisionChecker:
    return CollisionChecker(model)


def _above(model: RobotModel, z: float, yaw: float = 0.0) -> np.ndarray:
    q = solve_ik(model, [0.5, 0.1, z], down_quat(yaw), model.profile.arm.home).q
    assert q is not None
    return q


def test_home_is_free(profile: RobotProfile, checker: CollisionChecker) -> None:
    assert checker.check(profile.arm.home) is None


def test_most_postures_above_the_table_are_free_of_self_contact(
    profile: RobotProfile, model: RobotModel
) -> None:
    alone = CollisionChecker(model, boxes={})
    postures = np.random.default_rng(2).uniform(profile.position_lower, profile.position_upper, (400, 7))
    assert sum(alone.check(q) is None for q in postures) > 0.9 * len(postures)


def test_links_that_a_joint_connects_are_never_reported(profile: RobotProfile, model: RobotModel) -> None:
    alone = CollisionChecker(model, boxes={})
    chain = [f"fr3_link{i}" for i in range(8)] + ["fr3_hand"]
    neighbours = {frozenset(pair) for pair in pairwise(chain)}
    neighbours |= {
        frozenset({"fr3_hand", "fr3_leftfinger"}),
        frozenset({"fr3_leftfinger", "fr3_rightfinger"}),
    }
    for q in np.random.default_rng(3).uniform(profile.position_lower, profile.position_upper, (300, 7)):
        for contact in alone.contacts(q, width=0.0):
            assert frozenset(contact.pair) not in neighbours


def test_the_hand_in_the_table_is_named_with_its_depth(model: RobotModel, checker: CollisionChecker) -> None:
    contact = checker.check(_above(model, -0.02))
    assert contact is not None
    assert contact.first in {"fr3_leftfinger", "fr3_rightfinger"}
    assert contact.second == "table"
    assert contact.depth_m == pytest.approx(0.02 + FINGERTIP_BELOW_TCP_M, abs=5e-4)
    assert str(contact) == f"{contact.first} with table (29 mm deep)"


@pytest.mark.parametrize("sunk_mm, touches", [(-5.0, False), (0.8, False), (1.3, True)])
def test_fingers_may_touch_the_table_by_a_millimetre(
    model: RobotModel, checker: CollisionChecker, sunk_mm: float, touches: bool
) -> None:
    q = _above(model, FINGERTIP_BELOW_TCP_M - sunk_mm / 1000)
    assert (checker.check(q) is not None) is touches


def test_the_folded_arm_touches_itself(model: RobotModel, checker: CollisionChecker) -> None:
    folded = np.array([0.0, -1.7, 0.0, -3.0, 0.0, 0.6, 0.785])
    contact = checker.check(folded)
    assert contact is not None
    assert {contact.first, contact.second} <= set(model.links)


def test_a_keep_out_box_is_reported_by_its_name(profile: RobotProfile, model: RobotModel) -> None:
    xyz, _ = model.fk(profile.arm.home)
    box = Box(lower=tuple(xyz - 0.05), upper=tuple(xyz + 0.05))
    contact = CollisionChecker(model, boxes={"shelf": box}).check(profile.arm.home)
    assert contact is not None
    assert contact.second == "shelf"


def test_a_path_reports_where_the_first_contact_begins_and_how_deep_it_gets(
    model: RobotModel, checker: CollisionChecker
) -> None:
    heights = np.linspace(0.05, -0.03, 9)  # 1 cm apart
    contact = checker.check_path([_above(model, z) for z in heights])
    assert contact is not None
    assert contact.index == 5
    assert contact.depth_m == pytest.approx(0.03 + FINGERTIP_BELOW_TCP_M, abs=5e-4)


def test_a_pair_that_already_touches_may_stay_so_deep_but_no_deeper(
    model: RobotModel, checker: CollisionChecker
) -> None:
    start = _above(model, 0.005)
    tolerated = {contact.pair: contact.depth_m + 0.001 for contact in checker.contacts(start)}
    assert tolerated
    assert checker.check_path([start, _above(model, 0.05)], tolerated=tolerated) is None
    assert checker.check_path([start, _above(model, -0.02)], tolerated=tolerated) is not None


def test_without_meshes_the_error_says_what_to_install() -> None:
    with pytest.raises(AssetError, match="franka_description"):
        CollisionChecker(RobotModel(profiles.load("panda")))


def test_fill_moves_no_joint_further_than_the_step() -> None:
    rows = fill([[0.0, 0.0], [0.1, -0.25], [0.1, -0.25]], 0.02)
    assert np.abs(np.diff(rows, axis=0)).max() <= 0.02 + 1e-12
    assert rows[0].tolist() == [0.0, 0.0]
    assert rows[-1].tolist() == [0.1, -0.25]


def test_obstacles_of_a_scene_are_seen_like_boxes_from_the_start(
    profile: RobotProfile, model: RobotModel
) -> None:
    rng = np.random.default_rng(5)
    moving = CollisionChecker(model, boxes={})
    for _ in range(6):
        centre, size = rng.uniform([0.2, -0.4, 0.1], [0.7, 0.4, 0.7]), rng.uniform(0.02, 0.4, 3)
        fixed = CollisionChecker(model, boxes={"it": Box(lower=centre - size / 2, upper=centre + size / 2)})
        moving.set_scene(Scene((Obstacle("it", tuple(centre), tuple(size)),)))
        for q in rng.uniform(profile.position_lower, profile.position_upper, (80, 7)):
            seen, expected = (each.contacts(q, margin_m=0.02) for each in (moving, fixed))
            assert [c.pair for c in seen] == [c.pair for c in expected]
            assert [c.depth_m for c in seen] == pytest.approx([c.depth_m for c in expected], abs=1e-6)
    moving.set_scene(None)
    assert moving.check(profile.arm.home) is None


def test_many_obstacles_and_turned_ones_are_seen(profile: RobotProfile, model: RobotModel) -> None:
    checker = CollisionChecker(model)
    xyz = model.link_pose(profile.arm.home, "fr3_hand")[:3, 3]
    far = tuple(Obstacle(f"far {i}", (0.5, -2.0 - i, 0.5), (0.1, 0.1, 0.1)) for i in range(40))
    checker.set_scene(Scene((*far, Obstacle("here", tuple(xyz), (0.02, 0.02, 0.02)))))
    contact = checker.check(profile.arm.home)
    assert contact is not None and contact.second == "here"
    # 0.2 m long: reaches the hand only when it is turned towards it.
    beside = (xyz[0] - 0.12, xyz[1], xyz[2])
    for yaw, touches in ((np.pi / 2, False), (0.0, True)):
        checker.set_scene(Scene((Obstacle("bar", beside, (0.24, 0.02, 0.02), yaw),)))
        assert (checker.check(profile.arm.home) is not None) is touches


def test_what_is_held_touches_boxes_but_not_the_hand(model: RobotModel, checker: CollisionChecker) -> None:
    held = Scene(held=HeldBox((0.0, 0.0, 0.04), (0.04, 0.04, 0.1)), gripper_width=0.04)
    try:
        checker.set_scene(held)
        assert checker.check(_above(model, 0.2)) is None
        assert checker.check(_above(model, 0.085)) is None  # 5 mm into the table: it is put down
        contact = checker.check(_above(model, 0.07))
        assert contact is not None
        assert contact.pair == ("held object", "table")
        assert contact.depth_m == pytest.approx(0.02, abs=1e-3)
    finally:
        checker.set_scene(None)


def test_a_margin_reports_what_comes_close_to_a_box_with_its_distance(
    model: RobotModel, checker: CollisionChecker
) -> None:
    q = _above(model, FINGERTIP_BELOW_TCP_M + 0.007)
    assert checker.check(q) is None
    near = checker.contacts(q, margin_m=0.01)
    assert {contact.second for contact in near} == {"table"}
    assert near[0].depth_m == pytest.approx(-0.007, abs=5e-4)
    assert str(near[0]).endswith("with table (7 mm apart)")
    assert checker.contacts(q, margin_m=0.005) == []


def test_the_opening_of_the_fingers_counts(model: RobotModel, checker: CollisionChecker) -> None:
    q = _above(model, 0.2)
    bar = Obstacle("bar", (0.5, 0.1 + 0.045, 0.2), (0.02, 0.02, 0.02))
    try:
        checker.set_scene(Scene((bar,)))
        assert checker.check(q) is not None
        checker.set_scene(Scene((bar,), gripper_width=0.01))
        assert checker.check(q) is None
    finally:
        checker.set_scene(None)
