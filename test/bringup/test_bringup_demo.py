"""The main job from the command line: a task in words, a moved cube, a report, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pyrua_ros import remains
from pyrua_ros.domain import base_folder

pytestmark = pytest.mark.timeout(400)


def start(tmp_path: Path, *words: str) -> subprocess.Popen[str]:
    environment = {name: text for name, text in os.environ.items() if not name.startswith("ROS_")}
    return subprocess.Popen(
        [sys.executable, "-m", "pyrua_ros.cli", *words],
        cwd=tmp_path,
        env={**environment, "PYTHONSAFEPATH": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def processes_of(run_dir: Path) -> list[str]:
    """Command lines that name the run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(run_dir) in line and "pytest" not in line:
            found.append(line)
    return found


def assert_nothing_is_left(run_dir: Path, out: str) -> None:
    folder = re.search(rf"{base_folder()}/\d+", out)
    assert folder is not None
    assert not Path(folder[0]).exists()
    assert processes_of(run_dir) == []
    time.sleep(remains.YOUNG_S)
    assert remains.dead_shared_memory() == []


def test_the_demo_puts_the_cube_into_the_bowl_and_says_so(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    out, _ = start(tmp_path, "demo", "seed:=3", f"run_dir:={run_dir}").communicate(timeout=350)
    result = json.loads((run_dir / "result.json").read_text())
    assert (result["success"], result["status"]) == (True, "done"), out
    assert all(result["score"].values())
    assert re.search(r"^  success +yes$", out, re.MULTILINE)
    assert "seed" not in (run_dir / "events.jsonl").read_text()
    page = (run_dir / "report.html").read_text()
    assert "put the red cube in the bowl" in page
    assert_nothing_is_left(run_dir, out)


def test_ctrl_c_in_mid_task_ends_everything_in_order(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    child = start(tmp_path, "demo", f"run_dir:={run_dir}")
    assert child.stdout is not None
    seen = ""
    while "[gate]" not in seen or "accepted" not in seen:
        line = child.stdout.readline()
        assert line, seen
        seen += line
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=120)
    assert child.returncode == 130, seen + out
    assert json.loads((run_dir / "result.json").read_text())["status"] == "cancelled"
    assert re.search(r"^  ended +SIGINT received$", out, re.MULTILINE)
    assert_nothing_is_left(run_dir, seen + out)
