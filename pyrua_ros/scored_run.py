"""One task from start to score: runs the graph until the planner ends, asks the simulator, renders the report."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyrua_ros.bringup import Arguments
from pyrua_ros.running import Run, running
from pyrua_ros.supervisor import Ended

#: For set-up and the planner's own end, on top of the task's time.
_MARGIN_S = 60.0
_UNCAPPED_S = 24 * 3600.0
SCRIPTED = "scripted"


@dataclass(frozen=True)
class ScoredRun:
    """What came of it."""

    run_dir: Path
    success: bool | None  # by the simulator's state; None when it could not be asked, or about another task
    ended: str  # why the run ended
    signal: int | None  # that ended it
    result: dict[str, Any]  # result.json
    report: Path | None
    wall_s: float
    sim_s: float | None = None  # simulated time when it was scored
    own_task: bool = True  # False: no predicate is about it

    @property
    def exit_code(self) -> int:
        """0 when the task is done (a task that nobody can check: says the planner), 128 + n after signal n, else 1."""
        if self.signal is not None:
            return 128 + self.signal
        if not self.own_task:
            return 0 if self.result.get("status") == "done" else 1
        return 0 if self.success else 1


def scene_task(args: Arguments) -> Arguments:
    """`args` with the scene's own task when it has none."""
    from pyrua_ros.backends.mujoco import scenes

    return args if args.task else replace(args, task=scenes.load(args.scene, args.task_id, args.seed).task)


def run_task(args: Arguments, *, show: bool = True) -> ScoredRun:
    """Run `args.task` once. It is scored when it is the scene's own: nobody can check any other.

    Raises
    ------
    UsageError, DomainError
        Before anything was started.
    """
    began = time.monotonic()
    limit_s = _time_cap(args) + _MARGIN_S
    with scripted_model(args) as fitted, running(fitted, exit_when_done=True, show=show) as run:
        ended = run.supervisor.wait(limit_s)
        score = _score(run) if ended is None or not ended.is_signal else {}
        simulated = _simulated(run) if score else None
    run_dir = run.runtime.run_dir
    result = _complete(run_dir, score, args)
    report = _render(run_dir)
    number = ended.code if ended is not None and ended.is_signal else None
    return ScoredRun(
        run_dir,
        result.get("success"),
        _why(ended, limit_s),
        number,
        result,
        report,
        time.monotonic() - began,
        simulated,
        is_own_task(args),
    )


@contextlib.contextmanager
def scripted_model(args: Arguments) -> Iterator[Arguments]:
    """`args` as they are; for planner:=openai without a key or an address, those of a model on a local endpoint."""
    keyless = not os.environ.get("OPENAI_API_KEY") and not os.environ.get("OPENAI_BASE_URL")
    if args.planner != "openai" or args.base_url or not keyless or args.model not in (None, SCRIPTED):
        yield args
        return
    from pyrua_ros.evaluation.endpoint import Endpoint

    with Endpoint() as endpoint:
        print("no OPENAI_API_KEY: playing the scripted model on a local endpoint", flush=True)
        yield replace(args, model=SCRIPTED, base_url=endpoint.base_url)


def is_own_task(args: Arguments) -> bool:
    """Whether `args.task` is what the scene's predicates are about, in one of its wordings."""
    from pyrua_ros.backends.mujoco import scenes
    from pyrua_ros.robot_model.profile import ConfigError

    try:
        wordings = scenes.task_set(args.scene).wording_sets
    except ConfigError:
        wordings = ("dev",)
    own = (scenes.load(args.scene, args.task_id, args.seed, wording).task for wording in wordings)
    return _plain(args.task) in map(_plain, own)


def _plain(sentence: str) -> str:
    return " ".join(re.findall(r"\w+", sentence.lower()))


def _time_cap(args: Arguments) -> float:
    from pyrua_ros.planner.settings import planner_settings

    cap = planner_settings().budget.seconds if args.max_seconds is None else args.max_seconds
    return cap or _UNCAPPED_S


def _why(ended: Ended | None, limit_s: float) -> str:
    if ended is None:
        return f"the planner did not end within {limit_s:.0f} s"
    return "the planner finished" if ended == Ended("planner", 0) else str(ended)


def _score(run: Run) -> dict[str, Any]:
    from pyrua_ros.backends.mujoco.control import ControlError

    if "mujoco" not in run.supervisor.pids or not is_own_task(run.args):
        return {}
    try:
        return run.control.score()
    except ControlError as error:
        print(f"no score: {error}")
        return {}


def _simulated(run: Run) -> float | None:
    from pyrua_ros.backends.mujoco.control import ControlError

    with contextlib.suppress(ControlError):
        return float(run.control.stats()["sim_time"])
    return None


def _complete(run_dir: Path, score: dict[str, Any], args: Arguments) -> dict[str, Any]:
    """Add the score to result.json; also when the planner died before it wrote one."""
    path = run_dir / "result.json"
    result: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        result = json.loads(path.read_text(encoding="utf-8"))
    result.setdefault("task", args.task)
    result["success"] = score.get("success")
    result["score"] = score.get("detail")
    result["scored"] = bool(score)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(partial, path)
    return result


def _render(run_dir: Path) -> Path | None:
    from pyrua_ros.planner import report

    try:
        return report.render(run_dir)
    except (OSError, ValueError, KeyError) as error:
        print(f"no report: {error}")
        return None


def summary(run: ScoredRun) -> list[tuple[str, str]]:
    """Rows of what a person wants to know first."""
    result = run.result
    tokens = result.get("tokens") or {}
    first = result.get("first_motion_s")
    verdict = {True: "yes", False: "no", None: "not scored"}[run.success]
    if run.success is None and run.own_task is False:
        verdict += ": only the scene's own task can be checked"
    rows = [
        ("task", str(result.get("task", ""))),
        ("success", verdict),
        ("planner says", f"{result.get('status', 'nothing')}: {result.get('summary', '')}".rstrip(": ")),
        ("planner", " ".join(filter(None, (result.get("planner"), result.get("model"))))),
        ("model calls", str(result.get("llm_calls", 0))),
        ("tokens", f"{tokens.get('input', 0)} in, {tokens.get('output', 0)} out"),
        ("cells", str(result.get("cells", 0))),
        ("first motion", "none" if first is None else f"{first:.1f} s"),
        ("task time", f"{result.get('elapsed_s', 0):.1f} s"),
        ("wall time", f"{run.wall_s:.1f} s"),
        ("report", str(run.report or "none")),
    ]
    if run.success is not True:
        rows += [("ended", run.ended), ("logs", str(run.run_dir / "log"))]
    if run.signal is not None:
        rows.append(("signal", signal.Signals(run.signal).name))
    return rows
