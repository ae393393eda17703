"""A scene: its objects (MJCF), where they may stand, the task in words, and when it is done (YAML)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pyrua_ros import paths
from pyrua_ros.robot_model.profile import ConfigError, explain, read_yaml


class _Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Region(_Config):
    """A rectangle on the table, base frame."""

    lower: tuple[float, float]
    upper: tuple[float, float]


class SceneObject(_Config):
    """How much room an object takes when it is placed upright."""

    radius: float = Field(gt=0, description="m, of the circle round it")
    height: float = Field(ge=0, description="m, of its origin above the table")
    region: Region | None = Field(default=None, description="narrower than the scene's")


class Inside(_Config):
    """The object's centre is inside a container's interior (a cylinder or box site)."""

    predicate: Literal["inside"]
    object: str
    container: str = Field(description="name of the site that spans the interior")


class AtRest(_Config):
    """The object does not move."""

    predicate: Literal["at_rest"]
    object: str


class Released(_Config):
    """No part of the hand touches the object."""

    predicate: Literal["released"]
    object: str


Predicate = Annotated[Inside | AtRest | Released, Field(discriminator="predicate")]


class Scene(_Config):
    """One scene; `name` is the file's stem."""

    name: str
    description: str
    task: str = Field(description="the instruction, in words")
    mjcf: Path
    region: Region
    gap: float = Field(ge=0, description="m, free distance between the objects' circles")
    objects: dict[str, SceneObject]
    success: tuple[Predicate, ...] = Field(min_length=1, description="all of them must hold")

    @model_validator(mode="after")
    def _success_speaks_of_objects_that_exist(self) -> Scene:
        for predicate in self.success:
            if predicate.object not in self.objects:
                raise ValueError(f"success names '{predicate.object}', which is no object of the scene")
        return self


def _folder() -> Path:
    return paths.share() / "urdf" / "scenes"


def scenes() -> list[str]:
    """Names of the scenes that exist."""
    return sorted(path.stem for path in _folder().glob("*.yaml"))


def load(name: str) -> Scene:
    """Scene `name`; raises ConfigError that lists what exists, or names the file and the key that is wrong."""
    path = _folder() / f"{name}.yaml"
    if name not in scenes():
        raise ConfigError(f"unknown scene '{name}'; there are: {', '.join(scenes())}")
    values = read_yaml(path)
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: expected keys and values, found {type(values).__name__}")
    try:
        scene = Scene.model_validate({"name": name, **values})
    except ValidationError as error:
        raise explain(path, error) from None
    return scene.model_copy(update={"mjcf": path.parent / scene.mjcf})
