"""A run folder read back: what happened, in order; whatever is missing or cut off is left out."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class FrameFile:
    """A frame that was sent."""

    path: Path
    camera: str
    label: str


@dataclass
class GateGoal:
    """What the gate did with one goal."""

    goal: str
    device: str
    source: str
    start_s: float
    end_s: float | None = None
    outcome: str = "accepted"
    reason: str = ""


@dataclass
class Step:
    """One line of the timeline: a cell, a correction, a retry, a change of the gate's mode, the end."""

    kind: str
    start_s: float
    text: str = ""  # the cell's output, or what the line says
    number: int = 0
    code: str = ""
    status: str = ""
    seconds: float | None = None
    said: str = ""
    tokens: dict[str, int] = field(default_factory=dict)
    frames: list[FrameFile] = field(default_factory=list)
    goals: list[GateGoal] = field(default_factory=list)


@dataclass
class Joints:
    """Samples of the robot: times, one column per joint, gripper width."""

    names: list[str]
    times: list[float]
    positions: list[list[float]]  # [joint][sample] rad
    width: list[float]  # m


@dataclass
class Story:
    """All of a run."""

    path: Path
    result: dict[str, Any]
    complete: bool  # the planner lived to say how it ended
    steps: list[Step]
    joints: Joints | None
    started: dict[str, Any]
    goals: list[GateGoal]

    @property
    def cells(self) -> list[Step]:
        """The steps that are cells."""
        return [step for step in self.steps if step.kind == "cell"]

    @property
    def frames(self) -> list[FrameFile]:
        """All frames, in order."""
        return [frame for step in self.cells for frame in step.frames]


def read_run(run_dir: Path) -> Story:
    """Read a run folder; raises FileNotFoundError when it is none."""
    if not run_dir.is_dir():
        raise FileNotFoundError(f"'{run_dir}' is no folder")
    events = _events(run_dir / "events.jsonl")
    result = _result(run_dir / "result.json")
    if not events and result is None and not any((run_dir / "cells").glob("*.py")):
        raise FileNotFoundError(
            f"'{run_dir}' is no run folder: it has no events.jsonl, result.json or cells/"
        )
    reader = _Reader(run_dir)
    for event in events:
        reader.take(event)
    if not events:
        reader.cells_without_events()
    result = result or {}
    for name in ("task", "model"):
        if not result.get(name) and reader.started.get(name):
            result[name] = reader.started[name]
    return Story(
        path=run_dir,
        result=result,
        complete=bool(result and result.get("status")),
        steps=reader.steps,
        joints=_joints(run_dir / "joint_states.csv"),
        started=reader.started,
        goals=list(reader.goals.values()),
    )


def _events(path: Path) -> list[dict[str, Any]]:
    events = []
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and isinstance(event.get("t"), (int, float)) and "event" in event:
            events.append(event)
    return events


def _result(path: Path) -> dict[str, Any] | None:
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) else None


class _Reader:
    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.steps: list[Step] = []
        self.started: dict[str, Any] = {}
        self.goals: dict[str, GateGoal] = {}
        self._said = ""
        self._tokens: dict[str, int] = {}
        self._cell: Step | None = None

    def take(self, event: dict[str, Any]) -> None:
        handler = getattr(self, f"_on_{event['event']}", None)
        if handler is not None:
            handler(float(event["t"]), event)

    def _on_started(self, t: float, event: dict[str, Any]) -> None:
        self.started = event

    def _on_reply(self, t: float, event: dict[str, Any]) -> None:
        self._said, self._tokens = str(event.get("said", "")), dict(event.get("tokens") or {})

    def _on_correction(self, t: float, event: dict[str, Any]) -> None:
        self.steps.append(Step("correction", t, text=str(event.get("text", "")), tokens=self._tokens))

    def _on_retry(self, t: float, event: dict[str, Any]) -> None:
        self.steps.append(Step("retry", t, text=f"{event.get('reason')}; waited {event.get('wait_s')} s"))

    def _on_gate_state(self, t: float, event: dict[str, Any]) -> None:
        words = [str(event.get("mode")), *(str(event[key]) for key in ("who", "why") if event.get(key))]
        self.steps.append(Step("mode", t, text=f"gate: {', '.join(words)}"))

    def _on_cell(self, t: float, event: dict[str, Any]) -> None:
        number = int(event.get("cell", 0))
        self._cell = Step(
            "cell", t, number=number, code=self._code(number), said=self._said, tokens=self._tokens
        )
        self._cell.status = "running"
        self.steps.append(self._cell)

    def _on_outcome(self, t: float, event: dict[str, Any]) -> None:
        if self._cell is None:
            return
        cell, self._cell = self._cell, None
        cell.status = str(event.get("status", ""))
        cell.seconds = float(event.get("seconds") or 0.0)
        cell.text = str(event.get("text", ""))
        for frame in event.get("frames") or []:
            path = self.run_dir / "frames" / Path(str(frame.get("file", ""))).name
            if path.is_file():
                cell.frames.append(FrameFile(path, str(frame.get("camera", "")), str(frame.get("label", ""))))

    def _on_gate(self, t: float, event: dict[str, Any]) -> None:
        name, what = str(event.get("goal", "")), str(event.get("what", ""))
        goal = self.goals.get(name)
        if goal is None:
            goal = GateGoal(name, str(event.get("device", "")), str(event.get("source", "")), t)
            self.goals[name] = goal
            if self._cell is not None:
                self._cell.goals.append(goal)
        if what != "accepted":
            goal.end_s = t
        goal.outcome, goal.reason = what, str(event.get("reason", "")) or goal.reason

    def _on_finished(self, t: float, event: dict[str, Any]) -> None:
        self.steps.append(
            Step("end", t, status=str(event.get("status", "")), text=str(event.get("summary", "")))
        )

    def _code(self, number: int) -> str:
        try:
            return (self.run_dir / "cells" / f"{number:03d}.py").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "# (the cell's file is missing)"

    def cells_without_events(self) -> None:
        """Only the cells' files are left."""
        for path in sorted((self.run_dir / "cells").glob("*.py")):
            number = int(path.stem) if path.stem.isdigit() else len(self.steps) + 1
            code = path.read_text(encoding="utf-8", errors="replace")
            self.steps.append(Step("cell", 0.0, number=number, code=code, status="unknown"))


def _joints(path: Path) -> Joints | None:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    if not lines:
        return None
    header = lines[0].split(",")
    rows = []
    for line in lines[1:]:
        try:
            row = [float(value) for value in line.split(",")]
        except ValueError:
            continue
        if len(row) == len(header) and math.isfinite(row[0]):
            rows.append(row)
    if len(rows) < 2 or len(header) < 3:
        return None
    columns = [list(column) for column in zip(*rows, strict=True)]
    return Joints(header[1:-1], columns[0], columns[1:-1], columns[-1])
