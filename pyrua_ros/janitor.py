"""Outlives whoever started the graph: when that one is killed, ends its processes and removes what they left."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from pyrua_ros import remains

#: Processes that are told of their parent's death by the kernel end within this.
_QUIET_S = 1.0
_TERM_S = 8.0
_KILL_S = 2.0
_DONE = "done"


class Janitor:
    """A process that watches over a run's processes. `dismiss` it when all have ended."""

    def __init__(self, folder: Path, lock_file: Path) -> None:
        root = str(Path(__file__).resolve().parent.parent)
        code = (
            f"import sys; sys.path.insert(0, {root!r}); from pyrua_ros.janitor import main; sys.exit(main())"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", code, str(folder), str(lock_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )

    def watch(self, pid: int) -> None:
        """Take process `pid` into the list."""
        self._tell(str(pid))

    def dismiss(self) -> None:
        """Send it home; nothing is left to do."""
        self._tell(_DONE)
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _tell(self, line: str) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.write(f"{line}\n".encode())
                self._process.stdin.flush()


def _await_ends(handles: dict[int, int], timeout_s: float) -> None:
    end = time.monotonic() + timeout_s
    while handles and (left := end - time.monotonic()) > 0:
        ended, _, _ = select.select(list(handles.values()), [], [], left)
        for pid in [pid for pid, handle in handles.items() if handle in ended]:
            os.close(handles.pop(pid))


def _signal(handles: dict[int, int], number: signal.Signals) -> None:
    for handle in handles.values():
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(handle, number)


def _kill_groups(pids: list[int]) -> None:
    """Kill what processes that led a group left in it."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)


def main() -> int:
    """Read process IDs from standard input until `done`, or until the writer dies."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folder, lock_file = Path(sys.argv[1]), Path(sys.argv[2])
    pids: list[int] = []
    handles: dict[int, int] = {}
    for line in sys.stdin:
        if line.strip() == _DONE:
            return 0
        pid = int(line)
        pids.append(pid)
        with contextlib.suppress(OSError):
            handles[pid] = os.pidfd_open(pid)
    _await_ends(handles, _QUIET_S)
    _signal(handles, signal.SIGTERM)
    _await_ends(handles, _TERM_S)
    _signal(handles, signal.SIGKILL)
    _kill_groups(pids)
    _await_ends(handles, _KILL_S)
    remains.remove_run(folder, lock_file)
    time.sleep(remains.YOUNG_S)
    remains.clean_shared_memory()
    return 0
