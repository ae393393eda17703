"""A person writes the cells at the terminal."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from typing import TextIO

from pyrua_ros.planner.conversation import Conversation
from pyrua_ros.planner.models.base import Cancelled, Reply
from pyrua_ros.planner.parse import Finish, Problem, check_cell

_HELP = "one cell: lines of Python, an empty line runs them; 'finish [done|failed] [summary]' ends the task"


class ManualModel:
    """Reads lines until an empty one."""

    name = "a person"
    billed = False
    max_corrections: int | None = None

    def __init__(self, source: TextIO | None = None, sink: TextIO | None = None) -> None:
        self._source = source or sys.stdin
        self._sink = sink or sys.stdout
        self._pending = b""

    def next(
        self, conversation: Conversation, *, max_output: int, timeout_s: float, cancelled: Callable[[], bool]
    ) -> Reply:
        """Prompt for a cell. The end of the input ends the task as failed."""
        if not conversation.exchanges:
            print(f"[{_HELP}]", file=self._sink)
        lines: list[str] = []
        while True:
            print("cell> " if not lines else "....> ", end="", file=self._sink, flush=True)
            line = self._read_line(cancelled)
            if line is None:
                return Reply(Finish("failed", "the input ended"))
            if not line.strip():
                if lines:
                    break
                continue
            words = line.split()
            if not lines and words[0] == "finish":
                return Reply(_finish(words[1:]))
            lines.append(line.rstrip("\n"))
        action = check_cell("\n".join(lines))
        if isinstance(action, Problem):
            print(action.correction, file=self._sink)
        return Reply(action, raw="\n".join(lines))

    def _read_line(self, cancelled: Callable[[], bool]) -> str | None:
        try:
            descriptor = self._source.fileno()
        except OSError:  # not a file of the system: reading cannot block
            return self._source.readline() or None
        while b"\n" not in self._pending:
            if cancelled():
                raise Cancelled
            if not select.select([descriptor], [], [], 0.2)[0]:
                continue
            chunk = os.read(descriptor, 65536)
            if not chunk:
                rest, self._pending = self._pending, b""
                return rest.decode(errors="replace") or None
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode(errors="replace") + "\n"

    def close(self) -> None:
        """Nothing to free."""


def _finish(words: list[str]) -> Finish:
    failed = bool(words) and words[0] == "failed"
    if words and words[0] in ("done", "failed"):
        words = words[1:]
    return Finish("failed" if failed else "done", " ".join(words) or "a person ended the task")
