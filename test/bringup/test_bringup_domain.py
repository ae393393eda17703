"""A domain of a run's own; what dead runs left never blocks."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pyrua_ros import domain
from pyrua_ros.domain import DomainError

HOLDER = """
import sys, time
from pathlib import Path
from pyrua_ros import domain
domain.base_folder = lambda: Path(sys.argv[1])
taken = domain.acquire()
taken.announce(Path("/some/run"), "a task")
print(taken.id, flush=True)
time.sleep(60)
"""


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runs"
    monkeypatch.setattr(domain, "base_folder", lambda: folder)
    return folder


def hold(base: Path) -> tuple[subprocess.Popen[str], int]:
    code = textwrap.dedent(HOLDER)
    child = subprocess.Popen([sys.executable, "-c", code, str(base)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    return child, int(child.stdout.readline())


def test_two_runs_never_share_a_domain(base: Path) -> None:
    first, second = domain.acquire(), domain.acquire()
    assert first.id != second.id
    assert {first.id, second.id} <= set(domain.DOMAINS)
    assert stat.S_IMODE(first.folder.stat().st_mode) == 0o700
    first.release()
    second.release()


def test_nothing_stays_after_release(base: Path) -> None:
    taken = domain.acquire()
    (taken.folder / "gate.sock").write_text("")
    taken.release()
    assert not base.exists()


def test_a_run_that_lives_elsewhere_is_found_and_its_domain_is_taken(base: Path) -> None:
    child, held = hold(base)
    try:
        (run,) = domain.live_runs()
        assert (run.domain, run.pid, run.run_dir, run.task) == (held, child.pid, Path("/some/run"), "a task")
        with pytest.raises(DomainError, match=f"domain:={held} is held by another run .pid {child.pid}"):
            domain.acquire(held)
        other = domain.acquire()
        assert other.id != held
        other.release()
    finally:
        child.kill()
        child.wait()


def test_what_a_killed_run_left_is_removed_and_its_domain_is_free_again(base: Path) -> None:
    child, held = hold(base)
    child.kill()
    child.wait()
    assert (base / str(held) / "run.json").exists()
    taken = domain.acquire(held)
    assert list(taken.folder.iterdir()) == []
    taken.release()


def test_dead_runs_are_not_listed_and_go_when_looked_for(base: Path) -> None:
    child, _ = hold(base)
    child.kill()
    child.wait()
    assert domain.live_runs() == []
    assert not base.exists()


def test_a_broken_run_file_does_not_hide_the_others(base: Path) -> None:
    child, held = hold(base)
    try:
        broken = domain.acquire()
        (broken.folder / "run.json").write_text("{")
        assert [run.domain for run in domain.live_runs()] == [held]
        broken.release()
    finally:
        child.kill()
        child.wait()


def test_a_domain_that_any_ros_program_uses_is_left_alone(base: Path) -> None:
    free = domain.acquire()
    free.release()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        participant.bind(("127.0.0.1", 7400 + 250 * free.id + 11))
        assert domain.in_use(free.id)
        other = domain.acquire()
        assert other.id != free.id
        other.release()
    assert not domain.in_use(free.id, frozenset())


def test_a_folder_of_somebody_else_is_refused(base: Path) -> None:
    base.parent.mkdir(exist_ok=True)
    base.symlink_to("/usr")
    with pytest.raises(DomainError, match="not a folder of this user"):
        domain.acquire()


def test_a_folder_that_others_can_enter_is_closed(base: Path) -> None:
    base.mkdir(mode=0o755)
    os.chmod(base, 0o755)
    taken = domain.acquire()
    assert stat.S_IMODE(base.stat().st_mode) == 0o700
    taken.release()
