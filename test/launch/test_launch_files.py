"""The launch files carry the same graph and the same arguments as the command line."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrua_ros import bringup, domain, paths
from pyrua_ros.bringup import UsageError

pytest.importorskip("launch.actions", reason="launch comes with a ROS 2 install, not from PyPI")
pytest.importorskip("launch_ros.actions", reason="launch_ros comes with a ROS 2 install, not from PyPI")

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch_ros.actions import Node

from pyrua_ros import launching


def load(name: str) -> LaunchDescription:
    path = paths.share() / "launch" / name
    spec = importlib.util.spec_from_file_location(name.replace(".", "_"), path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generate_launch_description()


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Domains of the test's own; what the launch would leave to its exit happens at the end of the test."""
    exits: list[Any] = []
    monkeypatch.setattr(domain, "base_folder", lambda: tmp_path / "base")
    monkeypatch.setattr(launching.atexit, "register", lambda work, *words: exits.append((work, words)))
    yield exits
    for work, words in reversed(exits):
        work(*words)
    assert not (tmp_path / "base").exists()


def start(name: str, **given: str) -> list[Any]:
    """What the description turns into with the arguments `given`."""
    context = LaunchContext()
    context.launch_configurations.update(given)
    description = load(name)
    for entity in description.entities:
        if isinstance(entity, DeclareLaunchArgument):
            entity.execute(context)
    (opaque,) = (entity for entity in description.entities if isinstance(entity, OpaqueFunction))
    return opaque.execute(context) or []


def executables(entities: list[Any]) -> list[str]:
    return [entity.node_executable for entity in entities if isinstance(entity, Node)]


@pytest.mark.parametrize("name", ["agent.launch.py", "robot.launch.py"])
def test_launch_declares_every_argument_with_its_description(name: str) -> None:
    found = [entity for entity in load(name).entities if isinstance(entity, DeclareLaunchArgument)]
    declared = {entity.name: entity.description.partition(". Valid choices")[0] for entity in found}
    assert declared == {argument.name: argument.description for argument in bringup.arguments()}


def test_agent_launch_starts_robot_and_gate_and_a_planner_for_a_task(tmp_path: Path) -> None:
    assert executables(start("agent.launch.py", run_dir=str(tmp_path / "a"))) == ["mujoco", "gate"]
    with_task = start("agent.launch.py", run_dir=str(tmp_path / "b"), task="put the red cube in the bowl")
    assert executables(with_task) == ["mujoco", "gate", "planner"]


def test_robot_launch_starts_the_robot_alone(tmp_path: Path) -> None:
    assert executables(start("robot.launch.py", run_dir=str(tmp_path / "run"))) == ["mujoco"]


def test_a_launch_is_found_by_stop(tmp_path: Path) -> None:
    start("agent.launch.py", run_dir=str(tmp_path / "run"))
    (run,) = domain.live_runs()
    assert run.run_dir == tmp_path / "run"


def test_a_wrong_value_is_refused_before_anything_starts() -> None:
    with pytest.raises(UsageError, match="seed:=many: expected a whole number"):
        start("agent.launch.py", seed="many")


def test_a_planner_that_needs_a_terminal_is_refused() -> None:
    with pytest.raises(UsageError, match="manual needs a terminal"):
        start("agent.launch.py", planner="manual")
