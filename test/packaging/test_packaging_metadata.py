"""package.xml, setup.py and pyproject.toml say the same."""

from __future__ import annotations

import re
import stat
from xml.etree import ElementTree

import pytest

from pyrua_ros import paths

ROOT = paths.share()
MANIFEST = ElementTree.parse(ROOT / "package.xml").getroot()
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

#: What rosdep has no key for; README says how to install it.
WITHOUT_KEY = {"ruckig", "ompl", "pyseccomp", "ipykernel", "jupyter_client"}
KEYS = {
    "numpy": "python3-numpy",
    "scipy": "python3-scipy",
    "pydantic": "python3-pydantic",
    "PyYAML": "python3-yaml",
    "psutil": "python3-psutil",
    "transforms3d": "python3-transforms3d",
    "opencv-python-headless": "python3-opencv",
    "matplotlib": "python3-matplotlib",
    "mujoco": "python3-mujoco-pip",
    "toppra": "python3-toppra-pip",
    "openai": "python3-openai-pip",
    "jinja2": "python3-jinja2",
    "typer": "python3-typer",
    "rich": "python3-rich",
    "xacro": "xacro",
}


def names(block: str) -> list[str]:
    (body,) = re.findall(rf"^{block} = \[\n(.*?)^\]", PYPROJECT, re.MULTILINE | re.DOTALL)
    return re.findall(r'^\s*"([A-Za-z0-9_.-]+)', body, re.MULTILINE)


def test_the_manifest_is_valid() -> None:
    parse_package = pytest.importorskip("catkin_pkg.package").parse_package
    package = parse_package(str(ROOT / "package.xml"))
    package.validate()
    assert package.get_build_type() == "ament_python"


def test_name_version_and_description_agree() -> None:
    for key in ("name", "version", "description"):
        assert f'{key} = "{MANIFEST.findtext(key)}"' in PYPROJECT


def test_every_dependency_has_a_rosdep_key_or_is_named_in_the_readme() -> None:
    required = {element.text for element in MANIFEST if element.tag in ("depend", "exec_depend")}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in names("dependencies"):
        if name in WITHOUT_KEY:
            assert re.search(rf"pip install .*\b{name}\b", readme), name
        else:
            assert KEYS[name] in required, name


def test_every_message_package_of_the_wheels_is_a_rosdep_key_too() -> None:
    required = {element.text for element in MANIFEST if element.tag in ("depend", "exec_depend")}
    for name in names("ros"):
        assert name.removeprefix("ros-").replace("-", "_") in required


def test_the_license_is_here_in_full() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert MANIFEST.findtext("license") == "Apache-2.0"
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


@pytest.mark.parametrize("name", ["pyrua", ".ci/run"])
def test_scripts_are_executable(name: str) -> None:
    assert (ROOT / name).stat().st_mode & stat.S_IXUSR
