"""Meshes are found where they are, or the error says what to install."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pyrua_ros.robot_model import assets
from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.robot_model.profile import RobotProfile

ARM = "package://franka_description/meshes/robot_arms"


def test_every_mesh_of_the_fr3_is_a_file_on_this_machine(profile: RobotProfile) -> None:
    files = re.findall(r'filename="([^"]+)"', assets.urdf_text(profile))
    assert len(files) == 8 * 2 + 2 + 2
    assert all(Path(file).is_file() for file in files)


def test_unresolved_text_keeps_package_references_for_robot_state_publisher(profile: RobotProfile) -> None:
    text = assets.urdf_text(profile, resolve=False)
    assert f"{ARM}/fr3/collision/link3.stl" in text
    assert f"{ARM}/fr3/visual/link3.dae" in text


def test_joint_limits_in_the_urdf_are_those_of_the_profile(profile: RobotProfile) -> None:
    root = ElementTree.fromstring(assets.urdf_text(profile, resolve=False))
    limits = {joint.get("name"): joint.find("limit") for joint in root.iter("joint")}
    for i, name in enumerate(profile.arm.joints):
        limit = limits[name]
        assert limit is not None
        assert float(limit.get("lower", "")) == profile.arm.limits.position_lower[i]
        assert float(limit.get("upper", "")) == profile.arm.limits.position_upper[i]
        assert float(limit.get("velocity", "")) == profile.arm.limits.velocity[i]


def test_the_table_is_added_on_request_with_its_top_at_the_profiles_height(profile: RobotProfile) -> None:
    root = ElementTree.fromstring(assets.urdf_text(profile, resolve=False, table=True))
    assert profile.table is not None
    box = root.find("link[@name='table']/collision/geometry/box")
    origin = root.find("joint[@name='table_joint']/origin")
    assert box is not None and origin is not None
    height = [float(v) for v in box.get("size", "").split()][2]
    centre = [float(v) for v in origin.get("xyz", "").split()][2]
    assert centre + height / 2 == pytest.approx(profile.table.upper[2])
    assert "table" not in assets.urdf_text(profile, resolve=False).split("<robot")[1]


def test_a_mesh_that_is_not_installed_says_what_to_install() -> None:
    with pytest.raises(assets.AssetError, match=r"fer/collision/link0.stl.*franka_description"):
        assets.mesh_file(f"{ARM}/fer/collision/link0.stl")


def test_a_missing_wheel_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets.importlib.util, "find_spec", lambda name: None)
    assets.asset_folder.cache_clear()
    try:
        with pytest.raises(assets.AssetError, match="pip install --no-deps franky-sim"):
            assets.asset_folder()
        with pytest.raises(assets.AssetError, match=r"link0.stl.*franky-sim"):
            assets.mesh_file(f"{ARM}/fr3/collision/link0.stl")
    finally:
        assets.asset_folder.cache_clear()


def test_a_ros_install_of_franka_description_comes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mesh = tmp_path / "meshes/robot_arms/fer/collision/link0.stl"
    mesh.parent.mkdir(parents=True)
    mesh.touch()
    monkeypatch.setattr(assets, "_ros_package", lambda name: tmp_path)
    assert assets.mesh_file(f"{ARM}/fer/collision/link0.stl") == mesh


@pytest.mark.parametrize("name", profiles.robots())
def test_the_urdf_names_every_joint_and_link_of_each_profile(name: str) -> None:
    profile = profiles.load(name)
    root = ElementTree.fromstring(assets.urdf_text(profile, resolve=False))
    joints = {joint.get("name") for joint in root.iter("joint")}
    links = {link.get("name") for link in root.iter("link")}
    assert joints >= {*profile.arm.joints, *profile.gripper.joints}
    assert links >= {profile.arm.base_link, profile.arm.eef_link}
