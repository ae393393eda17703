"""Run folders, and the remains of runs in shared memory."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from pyrua_ros import domain, remains
from pyrua_ros.bringup import UsageError, parse
from pyrua_ros.running import new_run_dir, running


def test_a_new_run_gets_a_folder_named_after_time_and_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = new_run_dir(parse(["task:=Put the RED cube, please!"]))
    assert folder.parent == tmp_path / "runs"
    assert folder.name.endswith("-put-the-red-cube-please")
    assert folder.is_dir()


def test_two_runs_of_one_second_do_not_share_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "strftime", lambda _format: "20260101-120000")
    first, second = new_run_dir(parse([])), new_run_dir(parse([]))
    assert (first.name, second.name) == ("20260101-120000-cube-bowl", "20260101-120000-cube-bowl-2")


def test_a_named_run_folder_is_made_and_may_exist(tmp_path: Path) -> None:
    word = f"run_dir:={tmp_path}/a/b"
    assert new_run_dir(parse([word])) == new_run_dir(parse([word])) == tmp_path / "a" / "b"


def test_a_run_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file is not a folder"):
        new_run_dir(parse([f"run_dir:={tmp_path}/file"]))
    with pytest.raises(UsageError, match="cannot make .*/file/x"):
        new_run_dir(parse([f"run_dir:={tmp_path}/file/x"]))


def test_what_cannot_run_leaves_neither_folder_nor_domain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(domain, "base_folder", lambda: tmp_path / "base")
    with (
        pytest.raises(UsageError, match="no such run folder"),
        running(parse(["planner:=replay", "replay:=/nowhere"]), show=False),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(remains, "SHARED_MEMORY", tmp_path)
    return tmp_path


def make(memory: Path, *names: str, age_s: float = 10.0) -> None:
    for name in names:
        (memory / name).touch()
        os.utime(memory / name, (time.time() - age_s,) * 2)


def test_shared_memory_of_the_dead_goes_and_that_of_the_living_stays(memory: Path) -> None:
    dead = ["fastdds_port8911", "fastdds_port8911_el", "sem.fastdds_port8911_mutex"]
    dead += ["fastrtps_0123456789abcdef", "fastrtps_0123456789abcdef_el"]
    alive = ["fastdds_fedcba9876543210", "fastdds_fedcba9876543210_el", "someone_else", "fastdds_readme"]
    make(memory, *dead, *alive)
    with open(memory / "fastdds_fedcba9876543210_el") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        assert remains.clean_shared_memory() == len(dead)
    assert sorted(path.name for path in memory.iterdir()) == sorted(alive)


def test_a_file_that_was_just_made_is_not_taken_for_dead(memory: Path) -> None:
    make(memory, "fastdds_0123456789abcdef_el", age_s=0.0)
    assert remains.clean_shared_memory() == 0
