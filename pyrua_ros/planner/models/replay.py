"""Cells from an earlier run, a folder of .py files, or one file, in order."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from pyrua_ros.planner.conversation import Conversation
from pyrua_ros.planner.models.base import ModelError, Reply
from pyrua_ros.planner.parse import Finish, FinishStatus, Problem, check_cell


def find_cells(path: Path) -> list[Path]:
    """Files of a run folder, of a folder of cells, or the file itself; raises ModelError."""
    if path.is_file():
        return [path]
    for folder in (path / "cells", path):
        files = sorted(folder.glob("*.py")) if folder.is_dir() else []
        if files:
            return files
    raise ModelError(f"nothing to replay in '{path}': expected a run folder with cells/NNN.py, or .py files")


class ReplayModel:
    """Each call gives the next file's text."""

    billed = False
    max_corrections: int | None = 0

    def __init__(self, path: Path) -> None:
        self.name = f"replay of {path.name}"
        self._files = find_cells(path)
        self._ending: FinishStatus = "done"
        self._summary = f"replayed {len(self._files)} cells"
        try:
            recorded = json.loads((path / "result.json").read_text(encoding="utf-8"))
            if recorded.get("status") == "failed":
                self._ending = "failed"
            self._summary += f"; the recorded run said: {recorded.get('summary', '')}"
        except (OSError, ValueError, AttributeError):
            pass
        self._next = 0

    def next(
        self, conversation: Conversation, *, max_output: int, timeout_s: float, cancelled: Callable[[], bool]
    ) -> Reply:
        """The next file."""
        if self._next == len(self._files):
            return Reply(Finish(self._ending, self._summary))
        path = self._files[self._next]
        self._next += 1
        try:
            code = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"cannot replay {path}: {error}") from None
        action = check_cell(code)
        if isinstance(action, Problem):
            raise ModelError(f"cannot replay {path}: {action.correction}")
        return Reply(action, raw=code)

    def close(self) -> None:
        """Nothing to free."""
