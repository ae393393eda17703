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
