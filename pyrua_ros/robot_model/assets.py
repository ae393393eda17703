"""The robot's URDF text with every mesh found: in `franka_description` of a ROS 2 install, or in `franky-sim`."""

from __future__ import annotations

import importlib.util
import re
import warnings
from functools import lru_cache
from pathlib import Path

from pyrua_ros import paths
from pyrua_ros.robot_model.profile import RobotProfile

_MESH_URI = re.compile(r"package://(?P<package>[^/\"]+)/(?P<path>[^\"]+)")
# meshes/robot_arms/fr3/collision/link0.stl, meshes/robot_ee/franka_hand_white/visual/hand.dae
_FRANKA_MESH = re.compile(
    r"meshes/(robot_arms/fr3|robot_ee/franka_hand_white)/(?P<kind>visual|collision)/(?P<name>\w+)\.(?P<ext>\w+)"
)
_INSTALL_HINT = (
    "install the ROS 2 package franka_description, or `pip install --no-deps franky-sim` (FR3 meshes only)"
)


class AssetError(Exception):
    """A mesh or model file is not installed; the message says what to install."""


@lru_cache(maxsize=1)
def asset_folder() -> Path:
    """Folder of the FR3's simulator model and meshes that the `franky-sim` wheel brings."""
    spec = importlib.util.find_spec("franky_sim")
    folder = Path(spec.origin).parent / "assets" if spec and spec.origin else None
    if folder is None or not folder.is_dir():
        raise AssetError("the FR3's simulator model is missing: `pip install --no-deps franky-sim`")
    return folder


@lru_cache(maxsize=8)
def _ros_package(name: str) -> Path | None:
    try:
        from ament_index_python.packages import get_package_share_directory

        return Path(get_package_share_directory(name))
    except (ImportError, LookupError, OSError):
        return None


def mesh_file(uri: str) -> Path:
    """Return the file behind ``package://<package>/<path>``; raises `AssetError` that says what to install."""
    parts = _MESH_URI.fullmatch(uri)
    if parts is None:
        raise AssetError(f"not a package reference: {uri}")
    share = _ros_package(parts["package"])
    if share is not None and (share / parts["path"]).exists():
        return share / parts["path"]
    mesh = _FRANKA_MESH.fullmatch(parts["path"]) if parts["package"] == "franka_description" else None
    if mesh is not None:
        suffix = {"visual": "vis", "collision": "coll"}[mesh["kind"]]
        try:
            file = asset_folder() / "meshes" / f"{mesh['name']}_{suffix}.{mesh['ext']}"
        except AssetError:
            file = None
        if file is not None and file.exists():
            return file
    raise AssetError(f"mesh {uri} is not on this machine: {_INSTALL_HINT}")


def urdf_text(profile: RobotProfile, *, resolve: bool = True, table: bool = False) -> str:
    """Return the robot's URDF, xacro expanded.

    Parameters
    ----------
    resolve : replace ``package://`` references by absolute file paths; raises `AssetError` when one is missing.
    table : add the profile's table as a link.
    """
    import xacro

    file = paths.share() / profile.urdf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        document = xacro.process_file(str(file), mappings={"table": str(table).lower()})
    text: str = document.toxml()
    return _MESH_URI.sub(lambda uri: str(mesh_file(uri[0])), text) if resolve else text
