"""Stand-ins for the kernel and the robot: a Python executor in this process, a table top that only counts."""

from __future__ import annotations

import contextlib
import io
import time
import traceback
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
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


class TableTop:
    """A `robo` that knows one cube and one bowl; `slips` grasps fail before one holds."""

    def __init__(
        self, slips: int = 0, lost: int = 0, blind_front: bool = False, hidden: bool = False, blocked: int = 0
    ) -> None:
        self.cube = np.array([0.5, -0.1, 0.02])
        self.bowl = np.array([0.45, 0.15, 0.025])
        self.slips, self.lost, self.blind_front, self.hidden = slips, lost, blind_front, hidden
        self.blocked = blocked
        self.eef = np.array([0.3, 0.0, 0.5])
        self.width, self.held = 0.08, False
        self.asked: list[str] = []
        self.shown: list[str] = []

    def _move(self, xyz) -> SimpleNamespace:
        self.eef = np.asarray(xyz, float)
        if self.held and self.eef[2] > 0.16 and self.lost:
            self.lost, self.held, self.width = self.lost - 1, False, 0.0
        return SimpleNamespace(reached=True, reason="", status="done")

    def move_to(self, xyz, yaw=None, speed=0.5, straight=False):
        if self.held and self.blocked and speed == 0.4:
            self.blocked -= 1
            return SimpleNamespace(reached=False, reason="the way is blocked", status="no_plan")
        return self._move(xyz)

    def move_by(self, dxyz, speed=0.5):
        return self._move(self.eef + dxyz)

    def home(self):
        return self._move([0.3, 0.0, 0.5])

    def open(self):
        if self.held:
            self.cube = np.array([self.eef[0], self.eef[1], 0.03])
        self.held, self.width = False, 0.08

    def grasp(self, width, force=30.0):
        near = np.linalg.norm(self.eef - self.cube) < 0.02
        if near and self.slips:
            self.slips, near = self.slips - 1, False
        self.held, self.width = near, 0.04 if near else 0.0
        return SimpleNamespace(holding=near, width=self.width, reason="")

    def state(self):
        return SimpleNamespace(gripper_width=self.width, eef_pos=self.eef)

    def show(self, camera, label=""):
        self.shown.append(label)

    def segment(self, what, camera="front"):
        self.asked.append(f"{what} {camera}")
        missing = SimpleNamespace(
            found=False, reason="nothing red", score=0.0, world_xyz=None, top_z=None, size=None
        )
        if self.hidden or (self.blind_front and camera == "front"):
            return missing
        at, size = (self.cube, [0.04, 0.04, 0.04]) if "cube" in what else (self.bowl, [0.14, 0.14, 0.05])
        top = at[2] + 0.5 * size[2]
        return SimpleNamespace(
            found=True,
            reason="",
            score=0.9,
            world_xyz=at.copy(),
            top_z=top,
            size=np.array(size),
            yaw=0.1,
            grasp_width=0.04,
        )


@pytest.fixture
def table_top():
    """The class."""
    return TableTop


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
