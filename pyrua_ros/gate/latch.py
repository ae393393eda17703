"""The stop that survives a restart: a file that is on the disk before a stop is acknowledged."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path


class Latch:
    """The file `stop.json` in `folder`; a missing folder is made.

    The lock keeps a resume from removing what a stop in another thread has just written. It is held for one
    file operation; a stop brakes before it comes here.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "stop.json"
        self._lock = threading.Lock()

    def read(self) -> str | None:
        """Why the gate is stopped, or None when it is not. A file that cannot be read means stopped."""
        try:
            reason = json.loads(self._path.read_text(encoding="utf-8"))["reason"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            return f"the stop latch {self._path} is unreadable"
        return str(reason)

    def write(self, reason: str) -> None:
        """Put the stop on the disk; raises OSError."""
        with self._lock:
            draft = self._path.with_suffix(".draft")
            with open(draft, "w", encoding="utf-8") as file:
                json.dump({"reason": reason, "time": time.time()}, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self._path)
            self._sync_folder()

    def clear(self, still_wanted: Callable[[], bool] = lambda: True) -> bool:
        """Take the stop off the disk unless it is no longer wanted: a new one came; raises OSError."""
        with self._lock:
            if not still_wanted():
                return False
            self._path.unlink(missing_ok=True)
            self._sync_folder()
            return True

    def _sync_folder(self) -> None:
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
