"""Cameras from `config/cameras.yaml`, validated once."""

from __future__ import annotations

from functools import lru_cache

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pyrua_ros import paths
from pyrua_ros.robot_model.profile import explain, read_yaml


class Camera(BaseModel):
    """One RGB-D camera: where it hangs, what it publishes, how its frames go to the model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    description: str = Field(description="one line for the model: what this camera sees")
    link: str = Field(description="robot link that the camera is fixed to; the base link for a fixed camera")
    xyz: tuple[float, float, float] = Field(description="optical centre in the link's frame, m")
    quat: tuple[float, float, float, float] = Field(
        description="optical frame (x right, y down, z forward) in the link's frame, xyzw"
    )
    width: int = 640
    height: int = 480
    fovy_deg: float = Field(default=45.0, description="vertical field of view; simulation only")
    rate_hz: float = Field(default=10.0, gt=0)
    min_depth_m: float = 0.05
    max_depth_m: float = 3.0
    prompt_width: int = Field(default=512, description="width of a frame that is sent to the model, px")
    prompt_quality: int = Field(default=80, ge=1, le=100, description="JPEG quality of such a frame")


class Cameras(BaseModel):
    """All cameras of the cell."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cameras: tuple[Camera, ...]

    def named(self, name: str) -> Camera:
        """The camera `name`; raises `ValueError` that lists what exists."""
        for camera in self.cameras:
            if camera.name == name:
                return camera
        raise ValueError(f"unknown camera '{name}'; there are: {', '.join(c.name for c in self.cameras)}")


@lru_cache(maxsize=1)
def cameras() -> Cameras:
    """Read `config/cameras.yaml`; raises ConfigError."""
    path = paths.share() / "config" / "cameras.yaml"
    try:
        return Cameras.model_validate(read_yaml(path))
    except ValidationError as error:
        raise explain(path, error) from None
