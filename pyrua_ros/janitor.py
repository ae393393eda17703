"""Outlives a supervisor that was killed: ends its processes and removes what the run left behind."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path

from pyrua_ros import remains

#: From the supervisor's death, which its children hear as SIGTERM, to SIGKILL.
GRACE_S = 8.0
DONE = "done"


def _open(pid: int) -> int | None:
    with contextlib.suppress(OSError):
        return os.pidfd_open(pid)
    return None


def _await_ends(handles: dict[int, int], timeout_s: float) -> None:
    end = time.monotonic() + timeout_s
    while handles and (left := end - time.monotonic()) > 0:
        ended, _, _ = select.select(list(handles.values()), [], [], left)
        for pid in [pid for pid, handle in handles.items() if handle in ended]:
            os.close(handles.pop(pid))


def main() -> int:
    """Read process IDs from standard input until `done`, or until the writer dies."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folder, lock_file = Path(sys.argv[1]), Path(sys.argv[2])
    handles: dict[int, int] = {}
    for line in sys.stdin:
        if line.strip() == DONE:
            return 0
        pid = int(json.loads(line))
        handle = _open(pid)
        if handle is not None:
            handles[pid] = handle
    _await_ends(handles, GRACE_S)
    for pid in handles:
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
    _await_ends(handles, 2.0)
    remains.remove_run(folder, lock_file)
    time.sleep(remains.YOUNG_S)
    remains.clean_shared_memory()
    return 0
