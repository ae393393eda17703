"""What a person types: helpful text, one-line errors, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pyrua_ros import bench, cli, domain, scored_run, selftest
from pyrua_ros.arguments import UsageError
from pyrua_ros.gate.stop_socket import StopServer


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(domain, "base_folder", lambda: tmp_path / "base")


def call(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["pyrua", *words])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return int(caught.value.code or 0)


def test_help_shows_every_command_and_examples(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "--help") == 0
    out = capsys.readouterr().out
    for word in ("demo", "up", "stop", "doctor", "test", "bench", "report", "api"):
        assert f"\n  {word} " in out
    assert "\n    pyrua demo seed:=7 " in out


def test_help_of_up_shows_every_argument_on_a_line_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "up", "--help") == 0
    out = capsys.readouterr().out
    assert "\n  scene:=cube_bowl" in out
    assert "\n  max_dollars:=float\n" in out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["up", "scen:=x"], "pyrua: unknown argument 'scen' (did you mean scene?)"),
        (["demo", "seed:=x"], "pyrua: seed:=x: expected a whole number"),
        (
            ["bench", "latencyy"],
            "pyrua: unknown bench 'latencyy' (did you mean latency?); there are: latency, sim",
        ),
        (["bench", "demo", "--json", "/no/where/x"], "pyrua: --json /no/where/x: /no/where is not a folder"),
        (["report", "nowhere"], "pyrua: nowhere is not a run folder"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], line: str
) -> None:
    assert call(monkeypatch, *words) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(line)
    assert errors.count("\n") == 1


def test_stop_says_when_nothing_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "stop") == 1
    assert capsys.readouterr().err == "pyrua: nothing runs here\n"


def test_stop_reaches_every_gate_and_tells_which(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reasons: list[str] = []
    # Two runs of other processes: the lock of each is held by a process that inherited it.
    holders, servers = [], []
    for name in ("a", "b"):
        taken = domain.acquire()
        taken.announce(Path("/run") / name, "")
        words = [sys.executable, "-c", "import time; time.sleep(60)"]
        holders.append(subprocess.Popen(words, pass_fds=[taken.lock_fd]))
        servers.append(
            StopServer(taken.folder / "gate.sock", lambda reason: reasons.append(reason) or "stopped")
        )
    try:
        assert call(monkeypatch, "stop") == 0
    finally:
        for holder, server in zip(holders, servers, strict=True):
            server.close()
            holder.kill()
            holder.wait()
    out = capsys.readouterr().out
    assert reasons == ["pyrua stop", "pyrua stop"]
    assert out.count("stopped\n") == 2
    assert "/run/a" in out and "/run/b" in out


def test_stop_fails_when_a_gate_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = domain.acquire()
    taken.announce(Path("/run/a"), "")
    assert call(monkeypatch, "stop") == 1
    assert "no gate listens" in capsys.readouterr().err
    taken.release()


def test_test_runs_every_check_and_fails_when_one_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[list[str]] = []

    def run(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(words[2:])
        return subprocess.CompletedProcess(words, 1 if "mypy" in words else 0)

    monkeypatch.setattr(selftest.subprocess, "run", run)
    assert call(monkeypatch, "test", "-k", "gate") == 1
    assert ran == [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["mypy"],
        ["pytest", "-k", "gate"],
    ]
    assert "FAIL  mypy" in capsys.readouterr().out


def fake_runs(monkeypatch: pytest.MonkeyPatch, outcomes: list[bool | None]) -> list[tuple[int, str]]:
    """Let `run_task` end at once with each of `outcomes`; None stands for Ctrl-C."""
    asked: list[tuple[int, str]] = []

    def run_task(args, *, show: bool = True) -> scored_run.ScoredRun:  # type: ignore[no-untyped-def]
        success = outcomes[len(asked)]
        asked.append((args.seed, args.task))
        number = 2 if success is None else None
        result = {"llm_calls": 5, "cells": 4, "first_motion_s": 6.5, "elapsed_s": 30.0, "summary": "s"}
        return scored_run.ScoredRun(Path(args.run_dir), success, "", number, result, None, 40.0 + len(asked))

    monkeypatch.setattr(bench, "run_task", run_task)
    return asked


def test_bench_demo_counts_what_the_simulator_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = fake_runs(monkeypatch, [True, False, True, True])
    assert call(monkeypatch, "bench", "demo", "--seeds", "4", "--seed-base", "90", "--json", "out.json") == 0
    assert asked == [(seed, "put the red cube in the bowl") for seed in (90, 91, 92, 93)]
    facts = json.loads(Path("out.json").read_text())
    assert facts["bench"] == "demo"
    assert facts["figures"] == {
        "success_rate": 0.75,
        "demos": 4,
        "wall_median_s": 42.5,
        "wall_max_s": 44.0,
        "first_motion_max_s": 6.5,
    }
    assert [row["success"] for row in facts["rows"]] == [True, False, True, True]
    assert "success_rate" in capsys.readouterr().out


def test_bench_demo_ends_at_ctrl_c_with_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fake_runs(monkeypatch, [True, None])
    assert call(monkeypatch, "bench", "demo", "--seeds", "5", "--json", "out.json") == 130
    assert len(asked) == 2
    assert json.loads(Path("out.json").read_text())["figures"]["demos"] == 1


def test_a_task_is_done_only_when_the_simulator_says_so() -> None:
    def run(success: bool | None, number: int | None = None) -> scored_run.ScoredRun:
        result = {"status": "done", "claimed_success": True}
        return scored_run.ScoredRun(Path("/run"), success, "", number, result, None, 1.0)

    assert [run(True).exit_code, run(False).exit_code, run(None).exit_code, run(None, 15).exit_code] == [
        0,
        1,
        1,
        143,
    ]


def test_an_installed_package_cannot_test_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(selftest.paths, "share", lambda: tmp_path)
    with pytest.raises(UsageError, match="clone the repository"):
        selftest.run([])
