"""Budgets, prices and policies from `config/planner.yaml`, validated once."""

from __future__ import annotations

import datetime
import re
from functools import lru_cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pyrua_ros import paths
from pyrua_ros.planner.budget import Limits, Price
from pyrua_ros.planner.conversation import ContextPolicy
from pyrua_ros.planner.loop import EpisodeRules
from pyrua_ros.robot_model.profile import explain, read_yaml


class _Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BudgetSettings(_Config):
    """Caps of one episode; 0 = no cap."""

    calls: int = Field(ge=0)
    tokens: int = Field(ge=0, description="input and output together")
    dollars: float = Field(ge=0)
    seconds: float = Field(ge=0, description="wall time")

    def limits(self) -> Limits:
        """As the budget wants them."""
        return Limits(self.calls or None, self.tokens or None, self.dollars or None, self.seconds or None)


class CellSettings(_Config):
    """How a cell is run."""

    deadline_s: float = Field(gt=0)


class ModelSettings(_Config):
    """How the language model is asked."""

    default: str = Field(description="model of planner:=openai when none is named")
    max_output_tokens: int = Field(gt=0, description="of one reply, reasoning included")
    tool_choice: Literal["required", "auto"]
    stream: bool = Field(description="receive answers in pieces, so that they can be ended in the middle")
    temperature: float | None = Field(
        ge=0, le=2, description="for models that do not reason; null = the model's default"
    )
    reasoning_effort: str | None = Field(description="for models that reason; null = the model's default")
    max_corrections: int = Field(ge=0, description="unusable replies in a row before the episode fails")
    timeout_s: float = Field(gt=0, description="of one attempt")
    retries: int = Field(ge=0, description="of one call, after 429, 5xx and lost connections")
    first_wait_s: float = Field(ge=0)
    longest_wait_s: float = Field(gt=0)


class ContextSettings(_Config):
    """What of the past is sent again."""

    keep_frames: int = Field(ge=1)
    spare_frames: int = Field(ge=0, description="tolerated above keep_frames; then a batch is left out")
    frames_per_turn: int = Field(ge=1)
    max_chars: int = Field(ge=1000, description="of cells and feedback together")
    keep_chars: int = Field(ge=0, description="of each old cell and feedback that is shortened")
    image_detail: Literal["auto", "low", "high", "original"]
    image_tokens: int = Field(ge=0, description="guess for one frame, for the budget")


class PriceSettings(_Config):
    """US dollars per million tokens."""

    input: float = Field(ge=0)
    cached: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_write: float | None = Field(default=None, ge=0, description="null = as input")
    as_of: datetime.date = Field(description="when it was read")


class RecordSettings(_Config):
    """What the run folder keeps beside cells and frames."""

    joint_rate_hz: float = Field(gt=0)
    video_camera: str | None = Field(description="camera of episode.webm; null = no video")
    video_width: int = Field(ge=64)


class PlannerSettings(_Config):
    """The whole file."""

    budget: BudgetSettings
    cell: CellSettings
    model: ModelSettings
    context: ContextSettings
    record: RecordSettings
    start_timeout_s: float = Field(gt=0, description="for the gate and the robot to appear")
    prices: dict[str, PriceSettings]

    def rules(self) -> EpisodeRules:
        """As the loop wants them."""
        return EpisodeRules(
            cell_deadline_s=self.cell.deadline_s,
            max_output_tokens=self.model.max_output_tokens,
            frames_per_turn=self.context.frames_per_turn,
            image_tokens=self.context.image_tokens,
            call_timeout_s=self.model.timeout_s,
            retries=self.model.retries,
            first_wait_s=self.model.first_wait_s,
            longest_wait_s=self.model.longest_wait_s,
            context=ContextPolicy(
                keep_frames=self.context.keep_frames,
                spare_frames=self.context.spare_frames,
                max_chars=self.context.max_chars,
                keep_chars=self.context.keep_chars,
            ),
        )

    def price(self, model: str) -> Price | None:
        """Price of `model`, or of the model that a dated name is a snapshot of; None when unknown."""
        found = self.prices.get(model) or self.prices.get(re.sub(r"-\d{4}-\d{2}-\d{2}$", "", model))
        if found is None:
            return None
        return Price(found.input, found.cached, found.output, found.cache_write, found.as_of.isoformat())


@lru_cache(maxsize=1)
def planner_settings() -> PlannerSettings:
    """Read `config/planner.yaml`; raises ConfigError."""
    path = paths.share() / "config" / "planner.yaml"
    try:
        return PlannerSettings.model_validate(read_yaml(path))
    except ValidationError as error:
        raise explain(path, error) from None
