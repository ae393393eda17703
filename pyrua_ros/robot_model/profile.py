"""A robot's facts from `config/robots/<name>.yaml`, validated once."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import yaml
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pyrua_ros import paths

FloatArray = NDArray[np.float64]


class _Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SlowDown(_Config):
    """Velocity limits that fall towards the ends of the joints: Franka's position-dependent limits.

    Towards an end at distance d, a joint may move at ``max(0, sqrt(2 · deceleration · d) - offset)``.
    """

    stop_lower: tuple[float, ...] = Field(description="rad, where the distance d ends")
    stop_upper: tuple[float, ...] = Field(description="rad, where the distance d ends")
    deceleration: tuple[float, ...] = Field(description="rad/s²")
    offset: tuple[float, ...] = Field(description="rad/s")


class JointLimits(_Config):
    """Per joint, in the order of `joints`; where sources disagree, the strictest."""

    position_lower: tuple[float, ...] = Field(description="rad")
    position_upper: tuple[float, ...] = Field(description="rad")
    velocity: tuple[float, ...] = Field(description="rad/s, symmetric")
    acceleration: tuple[float, ...] = Field(description="rad/s², symmetric")
    jerk: tuple[float, ...] = Field(description="rad/s³, symmetric")
    slowdown: SlowDown | None = Field(default=None, description="lower velocity limits near the ends")


class Arm(_Config):
    """The arm's chain."""

    joints: tuple[str, ...]
    base_link: str = Field(description="its frame is the world frame of `robo`")
    eef_link: str = Field(description="the frame between the fingertips that `eef_pos` reports")
    home: tuple[float, ...] = Field(description="rad, a comfortable posture above the table")
    limits: JointLimits
    command_topic: str

    @model_validator(mode="after")
    def _one_value_per_joint(self) -> Arm:
        values = {"home": self.home}
        for section in (self.limits, self.limits.slowdown):
            fields = dict(section) if section else {}
            values |= {name: row for name, row in fields.items() if isinstance(row, tuple)}
        for name, row in values.items():
            if len(row) != len(self.joints):
                raise ValueError(f"{name} has {len(row)} values for {len(self.joints)} joints")
        return self


class Gripper(_Config):
    """The hand."""

    joints: tuple[str, ...] = Field(description="finger joints; their sum is the opening width")
    max_width: float = Field(gt=0, description="m")
    max_force: float = Field(gt=0, description="N")
    speed: float = Field(gt=0, description="m/s, closing or opening, both fingers together")
    command_topic: str
    command: Literal["trajectory", "franka_msgs", "gripper_command"] = "trajectory"


class Box(_Config):
    """An axis-aligned box in the base frame."""

    lower: tuple[float, float, float]
    upper: tuple[float, float, float]


class RobotProfile(_Config):
    """Everything that differs between robots."""

    name: str
    description: str
    urdf: str = Field(description="xacro or URDF, relative to the package's share folder")
    mjcf: str | None = Field(default=None, description="simulator model, relative to the asset folder")
    arm: Arm
    gripper: Gripper
    workspace: Box = Field(description="the end effector stays inside, m")
    table: Box | None = Field(default=None, description="keep-out box of the table top, m")

    @property
    def position_lower(self) -> FloatArray:
        """``[joints]`` rad."""
        return np.array(self.arm.limits.position_lower)

    @property
    def position_upper(self) -> FloatArray:
        """``[joints]`` rad."""
        return np.array(self.arm.limits.position_upper)

    @property
    def max_velocity(self) -> FloatArray:
        """``[joints]`` rad/s."""
        return np.array(self.arm.limits.velocity)

    @property
    def max_acceleration(self) -> FloatArray:
        """``[joints]`` rad/s²."""
        return np.array(self.arm.limits.acceleration)

    @property
    def max_jerk(self) -> FloatArray:
        """``[joints]`` rad/s³."""
        return np.array(self.arm.limits.jerk)


class ConfigError(Exception):
    """A configuration file is missing or wrong; the message names file, key and what is allowed."""


def read_yaml(path: Path) -> object:
    """Parse a YAML file; raises ConfigError with file and line."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from None


def explain(path: Path, error: ValidationError) -> ConfigError:
    """One line per problem of a pydantic error: file, key, what was wrong."""
    problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'file'}: {e['msg']}" for e in error.errors())
    return ConfigError(f"{path}: {problems}")


def robots() -> list[str]:
    """Names of the robots that have a profile."""
    return sorted(path.stem for path in (paths.share() / "config" / "robots").glob("*.yaml"))


@lru_cache(maxsize=8)
def load(name: str) -> RobotProfile:
    """Profile of robot `name`; raises ConfigError that lists what exists."""
    path = paths.share() / "config" / "robots" / f"{name}.yaml"
    if not path.exists():
        raise ConfigError(f"unknown robot '{name}'; there are: {', '.join(robots())}")
    try:
        return RobotProfile.model_validate(read_yaml(path))
    except ValidationError as error:
        raise explain(path, error) from None
