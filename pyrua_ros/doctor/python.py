"""Python, the virtual environment, and the libraries in it."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Iterable

from pyrua_ros.doctor.finding import Check, Finding, try_python

#: Module and the name under which pip knows it.
_LIBRARIES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "pydantic": "pydantic",
    "yaml": "PyYAML",
    "mujoco": "mujoco",
    "toppra": "toppra",
    "ruckig": "ruckig",
    "transforms3d": "transforms3d",
    "cv2": "opencv-python-headless",
    "ipykernel": "ipykernel",
    "jupyter_client": "jupyter_client",
    "openai": "openai",
    "pyseccomp": "pyseccomp",
    "jinja2": "jinja2",
    "xacro": "xacro",
}
_OLDEST, _NEWEST = (3, 10), (3, 13)


def python_version() -> Iterable[Finding]:
    """Whether this Python is one that we support, and in a virtual environment."""
    text = f"{'.'.join(map(str, sys.version_info[:3]))} at {sys.executable}"
    if _OLDEST <= sys.version_info[:2] <= _NEWEST:
        yield Finding("Python", "ok", text)
    else:
        yield Finding(
            "Python", "fail", text, "use Python 3.10 to 3.13: PYRUA_PYTHON=/path/to/python3.12 ./pyrua"
        )
    if sys.prefix == sys.base_prefix and "AMENT_PREFIX_PATH" not in os.environ:
        yield Finding("virtual environment", "warn", "none", "run ./pyrua, which makes one")


def libraries() -> Iterable[Finding]:
    """Versions of the main libraries; each must import."""
    imports = "".join(
        f"\ntry: import {module}\nexcept Exception as e: bad.append({pip!r} + ' (' + str(e) + ')')"
        for module, pip in _LIBRARIES.items()
    )
    worked, text = try_python(f"bad = []{imports}\nprint('; '.join(bad))", timeout_s=60.0)
    if not worked or text:
        missing = text or "an import ended the process"
        yield Finding("libraries", "fail", f"cannot import {missing}", "remove .venv and run ./pyrua again")
        return
    versions = []
    for pip in _LIBRARIES.values():
        try:
            versions.append(f"{pip} {importlib.metadata.version(pip)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    yield Finding("libraries", "ok", ", ".join(versions))


def robot_assets() -> Iterable[Finding]:
    """Whether the robot's meshes and simulator model are there."""
    from pyrua_ros.robot_model.assets import AssetError, asset_folder

    try:
        yield Finding("robot model", "ok", str(asset_folder()))
    except AssetError as error:
        yield Finding("robot model", "fail", str(error), "pip install --no-deps franky-sim")


def api_key() -> Iterable[Finding]:
    """Whether a key for planner:=openai is set; its value is not looked at."""
    if os.environ.get("OPENAI_API_KEY"):
        yield Finding("OPENAI_API_KEY", "ok", "set")
    else:
        yield Finding("OPENAI_API_KEY", "info", "not set; only planner:=openai needs it")


CHECKS: tuple[Check, ...] = (python_version, libraries, robot_assets, api_key)
