from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from std_srvs.srv import Trigger

from pyrua_ros import cli, domain
from pyrua_ros.domain import LiveRun
from pyrua_ros.resume import ResumeError, resume
from pyrua_ros.wire import names


@pytest.fixture
def run(ros_domain, tmp_path: Path) -> LiveRun:
    return LiveRun(int(os.environ["ROS_DOMAIN_ID"]), tmp_path, os.getpid(), tmp_path, "")


@pytest.fixture
def gate(ros_domain) -> Iterator[list[bool]]:
    """A gate that resumes; its answers can be changed."""
    context, answers = Context(), [True]
    rclpy.init(context=context)
    node = rclpy.create_node("gate", context=context)

    def on_resume(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = answers[-1]
        response.message = "resumed" if answers[-1] else "a person holds the button"
        return response

    node.create_service(Trigger, names.GATE_RESUME, on_resume)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def spin() -> None:
        try:
            executor.spin()
        except ExternalShutdownException:
            pass

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    yield answers
    rclpy.shutdown(context=context)
    thread.join(2.0)


def call(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["pyrua", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def test_resume_reaches_the_gate_of_the_run_that_lives(monkeypatch, gate, run, capsys) -> None:
    monkeypatch.setattr(domain, "live_runs", lambda: [run])
    assert call(monkeypatch, "resume", "--yes") == 0
    assert f"domain {run.domain}" in capsys.readouterr().out


def test_a_refusal_is_said(gate, run) -> None:
    gate.append(False)
    with pytest.raises(ResumeError, match="a person holds the button"):
        resume(run)


def test_no_gate_is_said(run) -> None:
    with pytest.raises(ResumeError, match=r"no service gate/resume on domain \d+ within 0.3 s"):
        resume(run, timeout_s=0.3)


def test_without_a_terminal_it_asks_for_yes(monkeypatch, run, capsys) -> None:
    monkeypatch.setattr(domain, "live_runs", lambda: [run])
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert call(monkeypatch, "resume") == 2
    assert "add --yes" in capsys.readouterr().err


def test_nothing_to_resume_is_said(monkeypatch, capsys) -> None:
    monkeypatch.setattr(domain, "live_runs", list)
    assert call(monkeypatch, "resume", "--yes") == 1
    assert "nothing runs here" in capsys.readouterr().err
