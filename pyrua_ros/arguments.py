"""The arguments of `up`, `demo` and the launch files: one definition, read from `name:=value`."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from pyrua_ros import paths

Value = str | int | float | bool | None


class UsageError(Exception):
    """What was asked for does not exist or cannot be; one line that names it and lists what can."""


def _stems(folder: str) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (paths.share() / folder).glob("*.yaml")))


def _argument(
    default: Value,
    description: str,
    *,
    kind: type = str,
    choices: tuple[str, ...] | Callable[[], tuple[str, ...]] = (),
    lower: float | None = None,
    upper: float | None = None,
) -> Any:
    metadata = {
        "description": description,
        "kind": kind,
        "choices": choices,
        "lower": lower,
        "upper": upper,
    }
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What to run. An argument that is None is left to the process that reads it."""

    backend: str = _argument("mujoco", "where the robot is", choices=("mujoco",))
    robot: str = _argument("fr3", "which robot", choices=lambda: _stems("config/robots"))
    scene: str = _argument("cube_bowl", "what stands on the table", choices=lambda: _stems("urdf/scenes"))
    task_id: str = _argument("", "which task of a scene that has many; its first choice when not given")
    seed: int = _argument(0, "places the objects", kind=int, lower=0)
    rtf: float = _argument(
        1.0, "simulated seconds per second; 0 runs as fast as it can", kind=float, lower=0, upper=100
    )
    render: str = _argument("auto", "camera images", choices=("auto", "off"))
    task: str = _argument("", "the instruction in words; without one, robot and gate wait")
    planner: str = _argument(
        "auto",
        "who writes the cells; auto is builtin when there is a task, otherwise none",
        choices=("auto", "none", "builtin", "openai", "replay", "manual"),
    )
    model: str | None = _argument(None, "model name for planner:=openai")
    base_url: str | None = _argument(None, "address of an OpenAI-compatible server")
    api: str | None = _argument(None, "which API the server speaks", choices=("auto", "responses", "chat"))
    replay: str | None = _argument(None, "run folder or file whose cells planner:=replay runs")
    max_calls: int | None = _argument(None, "most model calls; 0: no cap", kind=int, lower=0)
    max_tokens: int | None = _argument(None, "most tokens, all calls together; 0: no cap", kind=int, lower=0)
    max_dollars: float | None = _argument(None, "most dollars; 0: no cap", kind=float, lower=0)
    max_seconds: float | None = _argument(
        None, "longest wall time of the task, s; 0: no cap", kind=float, lower=0
    )
    run_dir: str | None = _argument(None, "folder for records; a new one under runs/ when not given")
    domain: int | None = _argument(
        None, "ROS domain; a free one of this host when not given", kind=int, lower=0, upper=101
    )
    rviz: bool = _argument(False, "open RViz (needs a ROS 2 install)", kind=bool)


@dataclass(frozen=True)
class Argument:
    """One argument, for help texts and launch files."""

    name: str
    kind: type
    default: Value
    description: str
    choices: tuple[str, ...] = ()
    lower: float | None = None
    upper: float | None = None

    def parse(self, text: str) -> Value:
        """Read a value; raises `UsageError` that names the argument and what is allowed."""
        if text == "" and self.default in (None, ""):
            return self.default
        if self.choices and text not in self.choices:
            raise UsageError(f"{self.name}:={text}: unknown {self.name}{hint(text, self.choices)}")
        if self.kind is bool:
            return self._boolean(text)
        if self.kind in (int, float):
            return self._number(text)
        return text

    def _boolean(self, text: str) -> bool:
        if text.lower() not in ("true", "false"):
            raise UsageError(f"{self.name}:={text}: expected true or false")
        return text.lower() == "true"

    def _number(self, text: str) -> int | float:
        noun = "a whole number" if self.kind is int else "a number"
        try:
            value: int | float = self.kind(text)
        except ValueError:
            raise UsageError(f"{self.name}:={text}: expected {noun}") from None
        low, high = self.lower, self.upper
        if (
            not math.isfinite(value)
            or (low is not None and value < low)
            or (high is not None and value > high)
        ):
            allowed = f"from {low:g} to {high:g}" if high is not None else f"of at least {low:g}"
            raise UsageError(f"{self.name}:={text}: expected {noun} {allowed}")
        return value


def arguments() -> tuple[Argument, ...]:
    """Every argument that exists, in the order of the help text."""
    found = []
    for item in fields(Arguments):
        facts: dict[str, Any] = {**item.metadata, "default": item.default}
        if callable(facts["choices"]):
            facts["choices"] = facts["choices"]()
        found.append(Argument(item.name, **facts))
    return tuple(found)


def hint(text: str, names: Iterable[str]) -> str:
    """Say which of `names` may have been meant by `text`, and list them all."""
    names = list(names)
    near = difflib.get_close_matches(text, names, n=1)
    return f"{f' (did you mean {near[0]}?)' if near else ''}; there are: {', '.join(names) or 'none'}"


def parse(words: Iterable[str]) -> Arguments:
    """Read ``name:=value`` words; raises `UsageError`."""
    given: dict[str, str] = {}
    for word in words:
        name, mark, text = word.partition(":=")
        if not mark:
            guess = word.replace("=", ":=", 1) if "=" in word else f'task:="{word}"'
            raise UsageError(f"expected NAME:=VALUE, got '{word}' (did you mean {guess} ?)")
        if name in given:
            raise UsageError(f"{name} is given twice")
        given[name] = text
    return from_texts(given)


def from_texts(given: Mapping[str, str]) -> Arguments:
    """Read the values by name and check them against each other; raises `UsageError`."""
    known = {argument.name: argument for argument in arguments()}
    for name in given:
        if name not in known:
            raise UsageError(f"unknown argument '{name}'{hint(name, known)}")
    chosen = Arguments(**{name: known[name].parse(text) for name, text in given.items()})  # type: ignore[arg-type]
    _check(chosen)
    return chosen


def _check(chosen: Arguments) -> None:
    if chosen.planner == "replay" and not chosen.replay:
        raise UsageError("planner:=replay needs replay:=RUN, a run folder or a file with cells")
    if chosen.replay and chosen.planner != "replay":
        raise UsageError(f"replay:={chosen.replay} is only read with planner:=replay")
    if chosen.task and chosen.planner == "none":
        raise UsageError("task:=… needs a planner, but planner:=none was given")


def describe() -> str:
    """Write the help text of all arguments."""
    lines = []
    for argument in arguments():
        shown = "|".join(argument.choices) if argument.choices else argument.kind.__name__
        default = "" if argument.default in (None, "") else f" [{str(argument.default).lower()}]"
        lines.append(f"{argument.name}:={shown}{default}\n    {argument.description}")
    return "\n".join(lines)
