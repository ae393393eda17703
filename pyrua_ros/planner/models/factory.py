"""From `planner:=NAME` to a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyrua_ros.planner.models.base import Model
from pyrua_ros.planner.models.builtin import BuiltinModel
from pyrua_ros.planner.models.manual import ManualModel
from pyrua_ros.planner.models.replay import ReplayModel
from pyrua_ros.planner.settings import PlannerSettings


@dataclass(frozen=True)
class Choice:
    """What was asked for; empty strings = not given."""

    planner: str
    model: str = ""
    base_url: str = ""
    api: str = "auto"
    replay: str = ""


def _openai(choice: Choice, task: str, settings: PlannerSettings) -> Model:
    from pyrua_ros.planner.models.openai_client import openai_model

    model: Model = openai_model(choice.model or settings.model.default, choice.base_url, choice.api, settings)
    return model


def _replay(choice: Choice, task: str, settings: PlannerSettings) -> Model:
    if not choice.replay:
        raise ValueError("planner:=replay needs replay:=<run folder or .py file>")
    return ReplayModel(Path(choice.replay))


_MAKERS: dict[str, Callable[[Choice, str, PlannerSettings], Model]] = {
    "builtin": lambda choice, task, settings: BuiltinModel(task),
    "openai": _openai,
    "replay": _replay,
    "manual": lambda choice, task, settings: ManualModel(),
}

PLANNERS = tuple(_MAKERS)


def check_planner(name: str) -> None:
    """Raise ValueError that lists the planners unless `name` is one."""
    if name not in _MAKERS:
        raise ValueError(f"unknown planner '{name}'; there are: {', '.join(PLANNERS)}")


def make_model(choice: Choice, task: str, settings: PlannerSettings) -> Model:
    """The model for one task; raises ValueError for misuse and ModelError when it cannot be asked."""
    check_planner(choice.planner)
    return _MAKERS[choice.planner](choice, task, settings)
