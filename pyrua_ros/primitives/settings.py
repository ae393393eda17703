"""What the executor process is told about its robot, as JSON in one environment variable."""

from __future__ import annotations

import os

from pydantic import BaseModel, ConfigDict, Field

ENVIRONMENT_VARIABLE = "PYRUA_SETTINGS"


class Settings(BaseModel):
    """How to connect."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    robot: str = Field(default="fr3", description="profile in config/robots")
    use_sim_time: bool = Field(default=False, description="ROS time comes from /clock")
    namespace: str = Field(default="", description="launch namespace of all topics")
    prompt_width: int | None = Field(
        default=None, gt=0, description="overrides the cameras' prompt_width, px"
    )
    prompt_quality: int | None = Field(default=None, ge=1, le=100, description="overrides prompt_quality")

    @classmethod
    def from_environment(cls) -> Settings:
        """Read PYRUA_SETTINGS; the defaults when it is not set."""
        return cls.model_validate_json(os.environ.get(ENVIRONMENT_VARIABLE) or "{}")
