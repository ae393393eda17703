"""Kinematics agree with the simulator's own model."""

from typing import Any

import mujoco
import numpy as np
import pytest

from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.robot_model.assets import asset_folder
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.rotations import angle_between

TCP_ABOVE_HAND_M = 0.1034


def _random_postures(profile: RobotProfile, count: int) -> np.ndarray:
    return np.random.default_rng(5).uniform(
        profile.position_lower, profile.position_upper, (count, len(profile.arm.joints))
    )


@pytest.fixture(scope="module")
def simulator() -> Any:
    text = (asset_folder() / "fr3.xml").read_text()
    meshes = asset_folder() / "meshes"
    return mujoco.MjModel.from_xml_string(text.replace('meshdir="assets"', f'meshdir="{meshes}"'))


def test_every_link_is_where_the_simulator_has_it(
    profile: RobotProfile, model: RobotModel, simulator: Any
) -> None:
    data = mujoco.MjData(simulator)
    pairs = {f"fr3_link{i}": f"fr3_link{i}" for i in range(8)} | {"fr3_hand": "hand"}
    pairs |= {"fr3_leftfinger": "left_finger", "fr3_rightfinger": "right_finger"}
    for q in _random_postures(profile, 25):
        data.qpos[:7] = q
        mujoco.mj_kinematics(simulator, data)
        for ours, theirs in pairs.items():
            pose = model.link_pose(q, ours)
            body = data.body(theirs)
            assert pose[:3, 3] == pytest.approx(body.xpos, abs=1e-6), ours
            assert pose[:3, :3] == pytest.approx(body.xmat.reshape(3, 3), abs=1e-6), ours


def test_the_end_effector_is_between_the_fingertips(profile: RobotProfile, model: RobotModel) -> None:
    for q in _random_postures(profile, 5):
        hand = model.link_pose(q, "fr3_hand")
        xyz, _ = model.fk(q)
        assert xyz == pytest.approx(hand[:3, 3] + TCP_ABOVE_HAND_M * hand[:3, 2])


def test_home_points_the_hand_down_in_front_of_the_base(profile: RobotProfile, model: RobotModel) -> None:
    xyz, quat = model.fk(profile.arm.home)
    assert xyz == pytest.approx([0.3069, 0.0, 0.4869], abs=1e-3)
    assert angle_between(quat, [1, 0, 0, 0]) < 1e-5


def test_the_jacobian_is_the_derivative_of_the_pose(profile: RobotProfile, model: RobotModel) -> None:
    step = 1e-6
    for q in _random_postures(profile, 5):
        jacobian = model.jacobian(q)
        for joint in range(7):
            shift = np.zeros(7)
            shift[joint] = step
            ahead, behind = (model.link_pose(q + sign * shift, profile.arm.eef_link) for sign in (1.0, -1.0))
            linear = (ahead[:3, 3] - behind[:3, 3]) / (2 * step)
            spin = (
                (ahead[:3, :3] - behind[:3, :3])
                / (2 * step)
                @ model.link_pose(q, profile.arm.eef_link)[:3, :3].T
            )
            angular = [spin[2, 1], spin[0, 2], spin[1, 0]]
            assert jacobian[:, joint] == pytest.approx([*linear, *angular], abs=1e-6)


def test_an_unknown_link_lists_those_that_exist(profile: RobotProfile, model: RobotModel) -> None:
    with pytest.raises(ValueError, match=r"no link 'elbow'; there are: base, fr3_link0"):
        model.fk(profile.arm.home, "elbow")


def test_the_panda_has_kinematics_without_its_meshes() -> None:
    panda = profiles.load("panda")
    xyz, _ = RobotModel(panda).fk(panda.arm.home)
    assert xyz == pytest.approx([0.3069, 0.0, 0.4869], abs=1e-3)
