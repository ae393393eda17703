"""A scene of many tasks: what the seed draws of one, its objects and colours, and the words that ask for it."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, ValidationError, model_validator
from typing_extensions import Self

from pyrua_ros.backends.mujoco.scene_types import Config, Region, Scene, SceneObject
from pyrua_ros.robot_model.profile import ConfigError, explain, read_yaml

Rgb = tuple[float, float, float]


class Item(Config):
    """One object of a task; both are templates."""

    kind: str
    color: str


class Task(Config):
    """One task as templates: ``{…}`` stands for a drawn colour or choice."""

    colors: tuple[str, ...] = Field(description="drawn, all different")
    choices: dict[str, tuple[str, ...]] = Field(default={})
    objects: dict[str, Item]
    distractors: int = Field(ge=0)
    lanes: tuple[dict[str, Any], ...] = ()
    wordings: tuple[str, ...] = Field(min_length=1)
    success: tuple[dict[str, Any], ...] = Field(min_length=1)


class TaskSet(Config):
    """The tasks of one scene."""

    name: str
    description: str
    mjcf: Path
    region: Region
    gap: float
    default: str
    colors: dict[str, Rgb] = Field(description="sRGB; drawn from")
    fixed_colors: dict[str, Rgb] = Field(default={})
    kinds: dict[str, dict[str, Any]]
    distractors: tuple[str, ...]
    tasks: dict[str, Task]
    wordings: dict[str, Path] = Field(default={}, description="files of other wordings, by the set's name")

    @model_validator(mode="after")
    def _default_exists(self) -> Self:
        if self.default not in self.tasks:
            raise ValueError(f"the default '{self.default}' is none of the tasks")
        return self

    @classmethod
    def read(cls, path: Path, values: Mapping[str, Any]) -> Self:
        """Make it of a scene's file and the one that its `tasks` names; raises ConfigError."""
        folder = path.parent
        source = folder / str(values["tasks"])
        tasks = read_yaml(source)
        if not isinstance(tasks, dict):
            raise ConfigError(f"{source}: expected keys and values, found {type(tasks).__name__}")
        try:
            found = cls.model_validate({"name": path.stem, **values, **tasks})
        except ValidationError as error:
            raise explain(source, error) from None
        files = {name: folder / file for name, file in found.wordings.items()}
        return found.model_copy(update={"mjcf": folder / found.mjcf, "wordings": files})

    @property
    def wording_sets(self) -> tuple[str, ...]:
        """Names of the sets of wordings."""
        return ("dev", *self.wordings)

    def draw(self, task_id: str, seed: int, wording: str) -> Scene:
        """One task's scene; the same arguments give the same one, and no wording changes what stands there."""
        task_id = task_id or self.default
        if task_id not in self.tasks:
            raise ConfigError(
                f"scene '{self.name}' has no task '{task_id}'; there are: {', '.join(self.tasks)}"
            )
        task = self.tasks[task_id]
        rng = self._random(seed, task_id)
        drawn = {
            **dict(zip(task.colors, rng.permutation(list(self.colors)).tolist(), strict=False)),
            **{name: str(rng.choice(values)) for name, values in task.choices.items()},
        }
        objects = {
            name.format_map(drawn): self._object(item.kind.format_map(drawn), item.color.format_map(drawn))
            for name, item in task.objects.items()
        }
        unused = [color for color in self.colors if color not in drawn.values()]
        for _ in range(task.distractors):
            kind, color = str(rng.choice(self.distractors)), str(rng.choice(unused))
            unused.remove(color)
            objects[f"{color}_{kind}"] = self._object(kind, color)
        texts = self.templates(task_id, wording)
        text = texts[self._random(seed, f"{task_id}/{wording}").integers(len(texts))]
        try:
            return Scene.model_validate(
                {
                    "name": self.name,
                    "description": self.description,
                    "task": text.format_map(drawn),
                    "mjcf": self.mjcf,
                    "region": self.region,
                    "gap": self.gap,
                    "objects": objects,
                    "salt": zlib.crc32(task_id.encode()),
                    "lanes": [_filled(lane, drawn) for lane in task.lanes],
                    "success": [_filled(predicate, drawn) for predicate in task.success],
                }
            )
        except ValidationError as error:
            raise explain(Path(f"task '{task_id}' of scene '{self.name}'"), error) from None

    def _object(self, kind: str, color: str) -> SceneObject:
        rgb = {**self.colors, **self.fixed_colors}[color]
        return SceneObject.model_validate({"kind": kind, "rgb": rgb, **self.kinds[kind]})

    def templates(self, task_id: str, wording: str) -> tuple[str, ...]:
        """Wordings of a task before anything is drawn; raises ConfigError."""
        if wording == "dev":
            return self.tasks[task_id].wordings
        if wording not in self.wordings:
            known = ", ".join(self.wording_sets)
            raise ConfigError(f"scene '{self.name}' has no wordings '{wording}'; there are: {known}")
        texts = read_yaml(self.wordings[wording])
        if not isinstance(texts, dict) or not texts.get(task_id):
            raise ConfigError(f"{self.wordings[wording]}: no wordings for task '{task_id}'")
        return tuple(texts[task_id])

    def _random(self, seed: int, purpose: str) -> np.random.Generator:
        return np.random.default_rng([seed, zlib.crc32(purpose.encode())])


def _filled(values: Mapping[str, Any], drawn: Mapping[str, str]) -> dict[str, Any]:
    return {
        key: value.format_map(drawn) if isinstance(value, str) else value for key, value in values.items()
    }
