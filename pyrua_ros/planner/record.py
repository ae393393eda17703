"""The run folder: cells, frames exactly as sent, events as they happen, the result at the end."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pyrua_ros.planner.budget import Budget
from pyrua_ros.planner.conversation import FrameLike
from pyrua_ros.planner.models.base import Reply
from pyrua_ros.planner.observer import CellResult, Observer, Outcome
from pyrua_ros.planner.parse import Cell, Finish


def write_atomic(path: Path, text: str) -> None:
    """Replace `path` at once, so that a reader never sees half a file."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def frame_name(cell: int, k: int, camera: str) -> str:
    """File name of the k-th frame that cell `cell` sent."""
    return f"{cell:03d}-{k}-{re.sub(r'[^A-Za-z0-9_]+', '_', camera)[:40] or 'frame'}.jpg"


class RunFolder(Observer):
    """Writes one episode into `run_dir`. Times are seconds since the object was made.

    Parameters
    ----------
    facts
        What else result.json shall say: planner, robot, scene, caps.
    """

    def __init__(self, run_dir: Path, facts: dict[str, Any] | None = None) -> None:
        self.path = run_dir
        self.facts = dict(facts or {})
        self._start = time.monotonic()
        self._lock = threading.Lock()
        for folder in ("cells", "frames"):
            (run_dir / folder).mkdir(parents=True, exist_ok=True)
        self._events = open(run_dir / "events.jsonl", "a", encoding="utf-8", buffering=1)  # noqa: SIM115
        self._task = self._model = ""

    def now(self) -> float:
        """Seconds on this episode's clock."""
        return time.monotonic() - self._start

    def event(self, kind: str, **data: Any) -> None:
        """Append one line to events.jsonl; safe from any thread."""
        line = json.dumps({"t": round(self.now(), 3), "event": kind, **data}, ensure_ascii=False, default=str)
        with self._lock:
            if not self._events.closed:
                self._events.write(line + "\n")

    def close(self) -> None:
        """No more events."""
        with self._lock:
            self._events.close()

    # Observer

    def started(self, task: str, model: str, instructions: str) -> None:  # noqa: D102
        self._task, self._model = task, model
        if instructions:
            (self.path / "prompt.md").write_text(instructions, encoding="utf-8")
        wall = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self.event("started", **{**self.facts, "task": task, "model": model, "wall": wall})

    def asking(self, call: int) -> None:  # noqa: D102
        self.event("asking", call=call)

    def retrying(self, reason: str, wait_s: float) -> None:  # noqa: D102
        self.event("retry", reason=reason, wait_s=round(wait_s, 3))

    def replied(self, reply: Reply, budget: Budget) -> None:  # noqa: D102
        action = reply.action
        what = "cell" if isinstance(action, Cell) else "finish" if isinstance(action, Finish) else "problem"
        usage = reply.usage
        self.event(
            "reply",
            action=what,
            said=reply.said,
            raw=reply.raw if what == "problem" else "",
            tokens={
                "input": usage.input,
                "cached": usage.cached,
                "output": usage.output,
                "reasoning": usage.reasoning,
            },
            estimated=usage.estimated,
            calls=budget.calls,
            dollars=budget.dollars,
        )

    def corrected(self, text: str) -> None:  # noqa: D102
        self.event("correction", text=text)

    def cell_started(self, number: int, code: str) -> None:  # noqa: D102
        (self.path / "cells" / f"{number:03d}.py").write_text(code + "\n", encoding="utf-8")
        self.event("cell", cell=number)

    def cell_done(  # noqa: D102
        self, number: int, result: CellResult, sent: Sequence[FrameLike], budget: Budget
    ) -> None:
        frames = []
        for k, frame in enumerate(sent, start=1):
            name = frame_name(number, k, frame.camera)
            (self.path / "frames" / name).write_bytes(frame.jpeg)
            frames.append({"file": name, "camera": frame.camera, "label": frame.label})
        self.event(
            "outcome",
            cell=number,
            status=result.status,
            seconds=round(result.seconds, 3),
            text=result.text,
            error=result.error,
            restarted=result.restarted,
            frames=frames,
            frames_shown=len(result.frames),
        )

    def finished(self, outcome: Outcome, budget: Budget) -> None:  # noqa: D102
        self.event("finished", status=outcome.status, summary=outcome.summary)
        self.write_result(outcome, budget)

    def write_result(self, outcome: Outcome, budget: Budget | None) -> None:
        """Write result.json in one step; later calls may add facts."""
        usage = budget.usage if budget else None
        result = {
            "task": self._task or self.facts.get("task", ""),
            "planner": self.facts.get("planner", ""),
            "model": self._model or self.facts.get("model", ""),
            "status": outcome.status,
            "summary": outcome.summary,
            "claimed_success": outcome.claimed_success,
            "success": None,
            "llm_calls": budget.calls if budget else 0,
            "tokens": {
                "input": usage.input if usage else 0,
                "cached": usage.cached if usage else 0,
                "cache_write": usage.cache_write if usage else 0,
                "output": usage.output if usage else 0,
                "reasoning": usage.reasoning if usage else 0,
            },
            "tokens_estimated": bool(usage and usage.estimated),
            "dollars": None if budget is None or budget.dollars is None else round(budget.dollars, 6),
            "elapsed_s": round(self.now(), 3),
            "cells": outcome.cells,
            "corrections": outcome.corrections,
            "retries": outcome.retries,
            "first_motion_s": None,
        }
        result.update(
            {key: value for key, value in self.facts.items() if key not in ("task", "planner", "model")}
        )
        write_atomic(
            self.path / "result.json", json.dumps(result, indent=2, ensure_ascii=False, default=str) + "\n"
        )


def add_facts(run_dir: Path, **facts: object) -> None:
    """Set keys of result.json in one step."""
    path = run_dir / "result.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    result.update(facts)
    write_atomic(path, json.dumps(result, indent=2, ensure_ascii=False) + "\n")
