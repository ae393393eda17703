"""The janitor: does nothing while its master lives, ends and removes what is left when it was killed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pyrua_ros.janitor import Janitor

#: Starts a process, hands it to a janitor, and waits to be killed. The process does not lead a group.
MASTER = """
import subprocess, sys, time
from pathlib import Path
from pyrua_ros.janitor import Janitor
child = subprocess.Popen([sys.executable, "-c", sys.argv[2]])
folder = Path(sys.argv[1])
janitor = Janitor(folder / "7", folder / "7.lock")
janitor.watch(child.pid)
print(child.pid, flush=True)
time.sleep(60)
"""
PATIENT = "import time; time.sleep(60)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"


def until(condition: Callable[[], object], timeout_s: float = 30.0) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    base = tmp_path / "base"
    (base / "7").mkdir(parents=True)
    (base / "7" / "gate.sock").touch()
    (base / "7.lock").touch()
    return base


@pytest.mark.parametrize("code", [PATIENT, STUBBORN])
def test_a_killed_master_leaves_neither_process_nor_file(folder: Path, code: str) -> None:
    words = [sys.executable, "-c", MASTER, str(folder), code]
    master = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert master.stdout is not None
    pid = int(master.stdout.readline())
    master.kill()
    master.wait()
    until(lambda: gone(pid))
    until(lambda: not folder.exists())


def test_a_dismissed_janitor_touches_nothing(folder: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", PATIENT])
    janitor = Janitor(folder / "7", folder / "7.lock")
    janitor.watch(child.pid)
    janitor.dismiss()
    assert child.poll() is None
    assert (folder / "7" / "gate.sock").exists()
    child.kill()
    child.wait()


def test_a_process_that_has_ended_already_does_not_disturb_it(folder: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    janitor = Janitor(folder / "7", folder / "7.lock")
    janitor.watch(child.pid)
    janitor.dismiss()
    assert (folder / "7").exists()
