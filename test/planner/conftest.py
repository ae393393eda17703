"""A Python executor in this process, in place of the kernel: the same contract, no robot."""

from __future__ import annotations

import contextlib
import io
import time
import traceback
from dataclasses import dataclass, field
from typing import Any

import pytest

from pyrua_ros.planner.budget import Budget, Limits
from pyrua_ros.planner.loop import Control, EpisodeRules, run_episode
from pyrua_ros.planner.observer import Observer

PIXEL = b"\xff\xd8\xff\xe0" + b"jpeg" * 8 + b"\xff\xd9"


@dataclass(frozen=True)
class PlainFrame:
    jpeg: bytes
    camera: str
    label: str = ""


@dataclass(frozen=True)
class PlainResult:
    status: str
    text: str
    error: str | None = None
    frames: list[PlainFrame] = field(default_factory=list)
    seconds: float = 0.01
    restarted: bool = False


class PlainExecutor:
    """Runs cells with exec in one namespace; `show(camera)` sends a frame."""

    def __init__(self, **names: Any) -> None:
        self.cells: list[str] = []
        self.deadlines: list[float] = []
        self.frames: list[PlainFrame] = []
        self.namespace = {"show": self._show, "sleep": time.sleep, **names}

    def _show(self, camera: str = "front", label: str = "") -> None:
        self.frames.append(PlainFrame(PIXEL, camera, label))

    def run(self, code: str, deadline_s: float) -> PlainResult:
        self.cells.append(code)
        self.deadlines.append(deadline_s)
        self.frames = []
        out, error = io.StringIO(), None
        with contextlib.redirect_stdout(out):
            try:
                exec(compile(code, "<cell>", "exec"), self.namespace)  # noqa: S102
            except Exception:  # noqa: BLE001
                error = traceback.format_exc(limit=0).strip()
        text = out.getvalue() + (f"\n{error}" if error else "")
        return PlainResult("error" if error else "ok", text, error, list(self.frames))


@pytest.fixture
def plain_executor():
    """The class, to be made with extra names for its cells."""
    return PlainExecutor


@dataclass
class Run:
    """Everything that a test wants to look at after an episode."""

    outcome: Any
    executor: PlainExecutor
    budget: Budget
    observer: Any


@pytest.fixture
def episode():
    """Run one episode: `episode(model, task=…, limits=…, rules=…, observer=…)`."""

    def run(
        model,
        *,
        task="do it",
        executor=None,
        limits=None,
        price=None,
        rules=None,
        observer=None,
        control=None,
    ):
        executor = executor or PlainExecutor()
        budget = Budget(limits or Limits(calls=60), price, model=model.name, billed=model.billed)
        observer = observer or Observer()
        outcome = run_episode(
            instructions="instructions",
            task=task,
            task_card=f"Task: {task}\n",
            model=model,
            executor=executor,
            budget=budget,
            observer=observer,
            control=control or Control(),
            rules=rules or EpisodeRules(first_wait_s=0.0),
        )
        return Run(outcome, executor, budget, observer)

    return run
