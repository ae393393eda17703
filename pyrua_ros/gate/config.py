"""What the gate tolerates and how long it waits, from `config/gate.yaml`, validated once."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pyrua_ros import paths
from pyrua_ros.robot_model.profile import Box, explain, read_yaml


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(_Section):
    """How one trajectory is measured against the robot's limits."""

    max_points: int = Field(ge=1, description="points in one trajectory")
    max_duration_s: float = Field(gt=0, description="length of one trajectory, s")
    min_step_s: float = Field(gt=0, description="shortest time between two points, s")
    position_slack: float = Field(ge=0, description="rad beyond a position limit that still passes")
    velocity_slack: float = Field(ge=0, description="share of the velocity limit that still passes above it")
    acceleration_slack: float = Field(ge=0, description="share of the acceleration limit")
    jerk_slack: float = Field(ge=0, description="share of the jerk limit")
    workspace_slack: float = Field(ge=0, description="m outside the workspace that still passes")
    workspace_step: float = Field(gt=0, description="rad of joint motion between two workspace checks")
    workspace_checks: int = Field(ge=2, description="most workspace checks of one trajectory")
    rest_velocity: float = Field(ge=0, description="rad/s that counts as rest at the end of a trajectory")
    acceleration_step: float = Field(ge=0, description="rad/s² of step allowed at start and end")


class Collision(_Section):
    """How closely a path is searched for collisions."""

    step_rad: float = Field(gt=0, description="rad of the joint that moves most between two checked postures")
    max_postures: int = Field(ge=2, description="most postures of one trajectory")
    inline_postures: int = Field(ge=1, description="up to so many are checked at once, more in the worker")
    slack_m: float = Field(
        ge=0, description="m of overlap that still passes: shapes are hulls, paths rounded"
    )
    keep_out: dict[str, Box] = Field(description="boxes that no link may enter, base frame, m")


class Start(_Section):
    """How closely a trajectory must begin where the arm is."""

    latency_s: float = Field(ge=0, description="from the gate's decision to the robot's motion, s")
    rest_position: float = Field(gt=0, description="rad between first point and measured state, at rest")
    rest_velocity: float = Field(gt=0, description="rad/s of the first point, at rest")
    rest_measured_velocity: float = Field(gt=0, description="rad/s of the measured state that counts as rest")
    motion_position: float = Field(gt=0, description="rad between first point and command, in motion")
    motion_velocity: float = Field(gt=0, description="rad/s between first point and command, in motion")
    motion_acceleration: float = Field(gt=0, description="rad/s² between first point and command, in motion")
    seam: float = Field(ge=0, description="rad, rad/s off the command that need no blending")
    blend_s: float = Field(gt=0, description="s in which a larger difference is blended away")
    align_s: float = Field(gt=0, description="s that an unstamped trajectory may be early or late, in motion")
    max_lead_s: float = Field(gt=0, description="s that a stamped trajectory may begin in the future")
    max_late_s: float = Field(gt=0, description="s that a stamped trajectory may have begun before")


class Progress(_Section):
    """When a goal is done, and when the gate stops waiting for it."""

    max_deviation: float = Field(gt=0, description="rad between command and measurement while moving")
    max_lag_s: float = Field(ge=0, description="s that the measurement may be behind the command")
    done_position: float = Field(gt=0, description="rad between end and measurement of a goal that is done")
    done_velocity: float = Field(gt=0, description="rad/s of the measurement of a goal that is done")
    settle_s: float = Field(gt=0, description="s of ROS time after the end to come to rest there")
    standstill_s: float = Field(gt=0, description="s of steady time that joints or clock may stand still")
    standstill_motion: float = Field(gt=0, description="rad of measured motion that is not standing still")
    standstill_command: float = Field(gt=0, description="rad of commanded motion that the joints must follow")
    stale_s: float = Field(gt=0, description="s of steady time without joint states while moving")
    frozen_s: float = Field(
        gt=0, description="s of steady time that joint states may repeat the very same values"
    )
    frozen_command: float = Field(gt=0, description="rad of commanded motion during which they must change")
    late_s: float = Field(gt=0, description="s between two looks of the gate at a motion")
    clock_back_s: float = Field(gt=0, description="s that ROS time may step back")
    finger_speed: float = Field(gt=0, description="m/s below which the fingers are at rest")
    finger_rest_s: float = Field(gt=0, description="s of ROS time that the fingers must be at rest")
    finger_timeout_s: float = Field(gt=0, description="s of ROS time beyond full travel at nominal speed")


class Input(_Section):
    """What a publisher may send before the gate looks at it."""

    max_rate_hz: float = Field(gt=0, description="trajectories per second of one source, sustained")
    burst: int = Field(ge=1, description="trajectories at once")
    max_bytes: int = Field(gt=0, description="size of one serialized trajectory")


class GateConfig(_Section):
    """All of `config/gate.yaml`."""

    limits: Limits
    collision: Collision
    start: Start
    progress: Progress
    input: Input
    discovery_s: float = Field(gt=0, description="s to look for foreign publishers before the gate starts")
    shutdown_s: float = Field(gt=0, description="s that a brake may take before the process exits")


@lru_cache(maxsize=4)
def load(path: str = "") -> GateConfig:
    """Read `path`, by default `config/gate.yaml`; raises ConfigError naming file, key and what is allowed."""
    file = Path(path) if path else paths.share() / "config" / "gate.yaml"
    try:
        return GateConfig.model_validate(read_yaml(file))
    except ValidationError as error:
        raise explain(file, error) from None
