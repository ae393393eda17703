"""Progress for the person at the terminal: one line per step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyrua_ros.planner.budget import Budget
from pyrua_ros.planner.conversation import FrameLike
from pyrua_ros.planner.models.base import Reply
from pyrua_ros.planner.observer import CellResult, Observer, Outcome


def _flush(line: str) -> None:
    print(line, flush=True)


class Terminal(Observer):
    """Writes to `write`, a line at a time."""

    def __init__(self, write: Callable[[str], None] = _flush, full_output: bool = False) -> None:
        self._write = write
        self._full_output = full_output
        self._billed = True

    def started(self, task: str, model: str, instructions: str) -> None:  # noqa: D102
        self._write(f"task: {task}")
        self._write(f"cells by: {model}")

    def retrying(self, reason: str, wait_s: float) -> None:  # noqa: D102
        self._write(f"  {reason}; next attempt in {wait_s:.1f} s")

    def replied(self, reply: Reply, budget: Budget) -> None:  # noqa: D102
        if reply.said.strip():
            self._write(f"  model: {_one_line(reply.said)}")

    def corrected(self, text: str) -> None:  # noqa: D102
        self._write(f"  reply not usable: {_one_line(text)}")

    def cell_started(self, number: int, code: str) -> None:  # noqa: D102
        lines = code.count("\n") + 1
        self._write(f"cell {number}: {lines} line{'s' if lines > 1 else ''}, running ...")

    def cell_done(  # noqa: D102
        self, number: int, result: CellResult, sent: Sequence[FrameLike], budget: Budget
    ) -> None:
        frames = f", {len(sent)} frame{'s' if len(sent) > 1 else ''}" if sent else ""
        tokens = f", so far {_tokens(budget)}" if budget.usage.total else ""
        self._write(f"cell {number}: {result.status} after {result.seconds:.1f} s{frames}{tokens}")
        if self._full_output:
            for line in result.text.splitlines():
                self._write(f"  {line}")
        else:
            last = [line for line in (result.error or result.text).splitlines() if line.strip()]
            if last:
                self._write(f"  {_one_line(last[-1])}")

    def finished(self, outcome: Outcome, budget: Budget) -> None:  # noqa: D102
        calls = f"{budget.calls} calls, {_tokens(budget)}, " if budget.usage.total else ""
        self._write(
            f"{outcome.status}: {outcome.summary} ({outcome.cells} cells, {calls}{budget.elapsed_s:.0f} s)"
        )


def _tokens(budget: Budget) -> str:
    dollars = "" if budget.dollars is None else f" = ${budget.dollars:.4f}"
    return f"{budget.usage.total:,} tokens{dollars}"


def _one_line(text: str, limit: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
