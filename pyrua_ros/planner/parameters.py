"""The planner node's ROS parameters, validated once."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

from pyrua_ros.planner.models.factory import Choice
from pyrua_ros.planner.settings import BudgetSettings


class Parameters(BaseModel):
    """What to run; an empty string or None = not given."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)

    robot: str = "fr3"
    scene: str = ""
    planner: str = "builtin"
    task: str = ""
    model: str = ""
    base_url: str = ""
    api: Literal["auto", "responses", "chat"] = "auto"
    replay: str = ""
    run_dir: str = ""
    max_calls: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_dollars: float | None = Field(default=None, ge=0)
    max_seconds: float | None = Field(default=None, ge=0)
    exit_when_done: bool = False

    @property
    def choice(self) -> Choice:
        """What the model factory needs."""
        return Choice(self.planner, self.model, self.base_url, self.api, self.replay)

    def caps(self, defaults: BudgetSettings) -> BudgetSettings:
        """The caps of one task: what was given, else the configured defaults."""
        given = {
            "calls": self.max_calls,
            "tokens": self.max_tokens,
            "dollars": self.max_dollars,
            "seconds": self.max_seconds,
        }
        return defaults.model_copy(update={key: value for key, value in given.items() if value is not None})


def read_parameters(node: Node) -> Parameters:
    """Declare and validate; raises ValueError naming the parameter and what is allowed."""
    anything = ParameterDescriptor(dynamic_typing=True)
    values: dict[str, Any] = {}
    for name in Parameters.model_fields:
        value = node.declare_parameter(name, None, anything).value
        if value is not None:
            values[name] = value
    try:
        return Parameters.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"parameter {first['loc'][0]}:={first['input']}: {first['msg']}") from None
