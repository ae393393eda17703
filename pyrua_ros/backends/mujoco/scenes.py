"""The scenes that exist: read from their YAML files by name."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from pyrua_ros import paths
from pyrua_ros.backends.mujoco.scene_types import Region, Scene, SceneObject
from pyrua_ros.backends.mujoco.task_set import TaskSet
from pyrua_ros.robot_model.profile import ConfigError, explain, read_yaml

__all__ = ["Region", "Scene", "SceneObject", "load", "scenes", "task_set"]


def _folder() -> Path:
    return paths.share() / "urdf" / "scenes"


def scenes() -> list[str]:
    """Names of the scenes that exist."""
    return sorted(path.stem for path in _folder().glob("*.yaml"))


def load(name: str, task_id: str = "", seed: int = 0, wording: str = "dev") -> Scene:
    """Scene `name`; where there are many tasks, the one of `task_id` as `seed` draws it, in wording set `wording`.

    Raises ConfigError that lists what exists, or names the file and the key that is wrong.
    """
    found = _read(name)
    if isinstance(found, TaskSet):
        return found.draw(task_id, seed, wording)
    if task_id:
        raise ConfigError(f"scene '{name}' has a single task: leave out task_id")
    return found


def task_set(name: str) -> TaskSet:
    """All tasks of scene `name`; a scene with a single one is a ConfigError."""
    found = _read(name)
    if isinstance(found, TaskSet):
        return found
    raise ConfigError(f"scene '{name}' has a single task")


def _read(name: str) -> Scene | TaskSet:
    path = _folder() / f"{name}.yaml"
    if name not in scenes():
        raise ConfigError(f"unknown scene '{name}'; there are: {', '.join(scenes())}")
    values = read_yaml(path)
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: expected keys and values, found {type(values).__name__}")
    if "tasks" in values:
        return TaskSet.read(path, values)
    try:
        scene = Scene.model_validate({"name": name, **values})
    except ValidationError as error:
        raise explain(path, error) from None
    return scene.model_copy(update={"mjcf": path.parent / scene.mjcf})
