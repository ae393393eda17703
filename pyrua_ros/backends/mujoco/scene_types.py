"""What a scene consists of: its objects, where they may stand, the task in words, and when it is done."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Config(BaseModel):
    """Values that do not change, no others."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Region(Config):
    """A rectangle on the table, base frame."""

    lower: tuple[float, float]
    upper: tuple[float, float]


class Facing(Config):
    """One way to stand: where, and turned how far about the vertical."""

    region: Region | None = Field(default=None, description="narrower than the scene's")
    yaw: tuple[float, float] = Field(default=(-math.pi, math.pi), description="rad, from and to")


class SceneObject(Config):
    """How much room an object takes when it is placed upright, and what it looks like."""

    radius: float = Field(gt=0, description="m, of the circle round it")
    height: float = Field(ge=0, description="m, of its origin above the table")
    region: Region | None = Field(default=None, description="narrower than the scene's")
    clear: tuple[tuple[float, float, float], ...] = Field(
        default=(), description="more circles that stay free: x, y, radius in the object's frame, m"
    )
    facing: tuple[Facing, ...] = Field(default=(Facing(),), min_length=1, description="one is drawn")
    kind: str | None = Field(
        default=None, description="body of the MJCF it is a copy of; None: its own name's"
    )
    rgb: tuple[float, float, float] | None = Field(default=None, description="sRGB, of what can be painted")
    top: float = Field(default=0.0, description="m above its origin, where things rest on it")
    support: float = Field(default=0.0, ge=0, description="m, radius of that place")
    half_size: tuple[float, float] = Field(default=(0.0, 0.0), description="m, of a zone's rectangle")


class Lane(Config):
    """A straight way over the table, from behind one object to another, on which nothing else stands."""

    start: str
    end: str
    behind: float = Field(ge=0, description="m, how far it begins before `start`")
    width: float = Field(gt=0, description="m")
    length: tuple[float, float] = Field(description="m, from `start` to `end`: least and most")


class Inside(Config):
    """The object's centre is inside a container's interior (a cylinder or box site)."""

    predicate: Literal["inside"]
    object: str
    container: str = Field(description="name of the site that spans the interior")


class AtRest(Config):
    """The object does not move."""

    predicate: Literal["at_rest"]
    object: str


class Released(Config):
    """No part of the hand touches the object."""

    predicate: Literal["released"]
    object: str


class Held(Config):
    """Both fingers touch the object, nothing but the hand does, and it is at least `lift` above its start."""

    predicate: Literal["held"]
    object: str
    lift: float = Field(gt=0, description="m")


class Stacked(Config):
    """The object stands on the base: centre over centre within the base's `support`, the height right."""

    predicate: Literal["stacked"]
    object: str
    base: str


class RestsOn(Config):
    """The object touches the base and not the table, its centre above the base's supporting surface."""

    predicate: Literal["rests_on"]
    object: str
    base: str


class InPlaceOf(Config):
    """The object is on the table where another one stood at the start."""

    predicate: Literal["in_place_of"]
    object: str
    other: str
    within: float = Field(default=0.03, gt=0, description="m")


class InZone(Config):
    """The object's centre is over the zone's rectangle, the object on the table."""

    predicate: Literal["in_zone"]
    object: str
    zone: str


class NotLifted(Config):
    """The object has never been higher than `within` above its start."""

    predicate: Literal["not_lifted"]
    object: str
    within: float = Field(default=0.02, gt=0, description="m")


class Opened(Config):
    """The object's slide is out by at least `share` of its travel."""

    predicate: Literal["opened"]
    object: str
    share: float = Field(gt=0, le=1)


class Pressed(Config):
    """The object's slide was once in by at least `share` of its travel."""

    predicate: Literal["pressed"]
    object: str
    share: float = Field(default=0.5, gt=0, le=1)


Predicate = Annotated[
    Inside | AtRest | Released | Held | Stacked | RestsOn | InPlaceOf | InZone | NotLifted | Opened | Pressed,
    Field(discriminator="predicate"),
]

#: Keys of predicates and lanes that name objects.
_REFERENCES = ("object", "base", "other", "zone", "start", "end")


class Scene(Config):
    """One scene; `name` is the file's stem."""

    name: str
    description: str
    task: str = Field(description="the instruction, in words")
    mjcf: Path
    region: Region
    gap: float = Field(ge=0, description="m, free distance between the objects' circles")
    objects: dict[str, SceneObject]
    lanes: tuple[Lane, ...] = ()
    salt: int = Field(default=0, ge=0, description="scenes that differ in it differ in the layouts of a seed")
    success: tuple[Predicate, ...] = Field(min_length=1, description="all of them must hold")

    @model_validator(mode="after")
    def _names_are_of_objects_that_exist(self) -> Scene:
        for where, parts in (("success", self.success), ("lanes", self.lanes)):
            for part in parts:
                for name in (getattr(part, key, None) for key in _REFERENCES):
                    if name is not None and name not in self.objects:
                        raise ValueError(f"{where} names '{name}', which is no object of the scene")
        return self
