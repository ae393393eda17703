"""colcon builds and installs the package: nodes, launch files, configuration, robot description."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pyrua_ros import paths

ROOT = paths.share()


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a build of this source tree was installed."""
    colcon = Path(sys.executable).with_name("colcon")
    if not colcon.exists():
        pytest.skip("colcon is not installed: pip install -e '.[dev]'")
    folder = tmp_path_factory.mktemp("workspace")
    # A copy, so that a build leaves nothing in the source tree.
    shutil.copytree(
        ROOT,
        folder / "src",
        ignore=shutil.ignore_patterns(".*", "runs", "build", "install", "log", "*.egg-info"),
    )
    environment = {name: text for name, text in os.environ.items() if name != "AMENT_PREFIX_PATH"}
    done = subprocess.run(
        [str(colcon), "--log-base", "log", "build", "--base-paths", "src"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 package finished" in done.stdout
    return folder / "install" / "pyrua_ros"


def test_nodes_are_where_ros2_run_looks(prefix: Path) -> None:
    found = sorted(path.name for path in (prefix / "lib" / "pyrua_ros").iterdir())
    assert found == ["gate", "mujoco", "planner", "pyrua"]
    assert all(os.access(prefix / "lib" / "pyrua_ros" / name, os.X_OK) for name in found)


@pytest.mark.parametrize("folder", ["config", "launch", "urdf"])
def test_data_files_are_installed_as_they_are_in_the_source(prefix: Path, folder: str) -> None:
    def files(base: Path) -> set[str]:
        return {str(p.relative_to(base)) for p in base.rglob("*") if p.is_file() and p.suffix != ".pyc"}

    assert files(prefix / "share" / "pyrua_ros" / folder) == files(ROOT / folder)


def test_ament_finds_the_package(prefix: Path) -> None:
    assert (prefix / "share" / "ament_index" / "resource_index" / "packages" / "pyrua_ros").exists()
    assert (prefix / "share" / "pyrua_ros" / "package.xml").exists()


def test_every_file_that_the_code_reads_is_installed(prefix: Path) -> None:
    (site,) = (prefix / "lib").glob("python3*/site-packages")
    source = {str(p.relative_to(ROOT)) for p in (ROOT / "pyrua_ros").rglob("*") if p.suffix in (".py", ".j2")}
    installed = {
        str(p.relative_to(site)) for p in (site / "pyrua_ros").rglob("*") if p.suffix in (".py", ".j2")
    }
    assert installed == source


def test_an_installed_node_starts_and_finds_its_data(prefix: Path) -> None:
    (site,) = (prefix / "lib").glob("python3*/site-packages")
    environment = {**os.environ, "PYTHONPATH": str(site), "AMENT_PREFIX_PATH": str(prefix)}
    words = [str(prefix / "lib" / "pyrua_ros" / "pyrua"), "up", "scene:=cube_bowls"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "pyrua: scene:=cube_bowls: unknown scene (did you mean cube_bowl?); there are: cube_bowl"
    )
