"""The supervisor: starts in order, stops everything, leaves nothing, whoever dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pyrua_ros import domain, supervisor
from pyrua_ros.bringup import Process, Runtime, UsageError
from pyrua_ros.supervisor import Ended, Supervisor

#: A whole supervised run in a process of its own, to be killed from outside.
RUN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_bringup_supervisor import graph, supervise
base, run_dir = Path(sys.argv[2]), Path(sys.argv[3])
with supervise(base, run_dir, graph("robot", "gate", "planner")) as running:
    print("up", flush=True)
    print(running.wait(), flush=True)
"""


def node(name: str, behaviour: str = "", **facts: object) -> Process:
    env = {"PYTHONPATH": str(Path(__file__).parent)}
    return Process(name, name, module="supervised_node", args=(name, behaviour), env=env, **facts)  # type: ignore[arg-type]


def graph(*names: str) -> tuple[Process, ...]:
    return tuple(node(name, control=name == "robot", secrets=name == "planner") for name in names)


class supervise:
    """A supervisor with its domain, for the length of a block."""

    def __init__(
        self, base: Path, run_dir: Path, processes: tuple[Process, ...], echo: object = None
    ) -> None:
        domain.base_folder = lambda: base
        self.taken = domain.acquire()
        self.taken.announce(run_dir, "a task")
        runtime = Runtime(self.taken.id, self.taken.folder, run_dir)
        self.supervisor = Supervisor(
            processes,
            runtime,
            lock_fd=self.taken.lock_fd,
            lock_file=self.taken.lock_file,
            echo=echo,  # type: ignore[arg-type]
        )

    def __enter__(self) -> Supervisor:
        return self.supervisor.__enter__()

    def __exit__(self, *_: object) -> None:
        self.supervisor.__exit__(None, None, None)
        self.taken.release()


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Path]]:
    monkeypatch.setattr(domain, "base_folder", domain.base_folder)
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    yield tmp_path / "base", run_dir


def until(condition: Callable[[], object], what: str, timeout_s: float = 20.0) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {timeout_s} s"
        time.sleep(0.02)


def await_up(run_dir: Path, *names: str) -> dict[str, int]:
    until(lambda: all((run_dir / f"up-{name}").exists() for name in names), "start")
    until(lambda: all((run_dir / f"up-{name}").read_text() for name in names), "start")
    return {name: int((run_dir / f"up-{name}").read_text()) for name in names}


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_everything_stops_in_reverse_order(folders: tuple[Path, Path]) -> None:
    base, run_dir = folders
    with supervise(base, run_dir, graph("robot", "gate", "planner")) as running:
        pids = await_up(run_dir, "robot", "gate", "planner")
        assert running.pids == pids
    assert (run_dir / "ends").read_text().split("\n") == [
        "planner SIGTERM",
        "gate SIGTERM",
        "robot SIGTERM",
        "",
    ]
    assert all(gone(pid) for pid in pids.values())
    assert not base.exists()


def test_a_process_that_ends_is_named_with_its_exit_code(folders: tuple[Path, Path]) -> None:
    base, run_dir = folders
    with supervise(base, run_dir, (node("robot"), node("planner", "short"))) as running:
        ended = running.wait(20.0)
    assert ended == Ended("planner", 3)
    assert str(ended) == "planner ended with exit code 3"


def test_the_end_of_a_process_that_is_not_required_does_not_matter(folders: tuple[Path, Path]) -> None:
    base, run_dir = folders
    processes = (node("robot"), node("rviz", "short", required=False))
    with supervise(base, run_dir, processes) as running:
        pid = await_up(run_dir, "rviz")["rviz"]
        until(lambda: gone(pid), "the end of rviz")
        assert running.wait(0.2) is None


@pytest.mark.parametrize("victim", ["robot", "gate", "planner"])
def test_a_killed_process_takes_the_rest_down(folders: tuple[Path, Path], victim: str) -> None:
    base, run_dir = folders
    with supervise(base, run_dir, graph("robot", "gate", "planner")) as running:
        pids = await_up(run_dir, "robot", "gate", "planner")
        os.kill(pids[victim], signal.SIGKILL)
        ended = running.wait(20.0)
    assert str(ended) == f"{victim} was ended by SIGKILL"
    assert all(gone(pid) for pid in pids.values())


def test_a_process_that_ignores_signals_is_killed_with_its_group(folders: tuple[Path, Path]) -> None:
    base, run_dir = folders
    processes = (node("robot", "stubborn", grace_s=0.2), node("planner", "grandchild"))
    with supervise(base, run_dir, processes):
        pids = await_up(run_dir, "robot", "planner")
        log = run_dir / "log" / "planner.log"
        until(lambda: "grandchild" in log.read_text(), "the grandchild's line")
        grandchild = int(log.read_text().split()[2])
    assert "robot SIGTERM" in (run_dir / "ends").read_text()
    assert gone(pids["robot"])
    until(lambda: gone(grandchild), "the end of the grandchild")


def test_output_is_kept_per_process_and_told_with_its_name(folders: tuple[Path, Path]) -> None:
    base, run_dir = folders
    told: list[tuple[str, str]] = []
    with supervise(
        base, run_dir, graph("robot", "gate"), lambda name, line: told.append((name, line))
    ) as running:
        await_up(run_dir, "robot", "gate")
        number = running._runtime.domain
        until(lambda: len(told) >= 4, "output")
    assert ("gate", f"gate key=None domain={number}") in told
    assert (
        (run_dir / "log" / "gate.log").read_text().splitlines()[0].endswith(f" gate key=None domain={number}")
    )


def test_the_api_key_reaches_the_planner_alone(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    base, run_dir = folders
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with supervise(base, run_dir, graph("robot", "planner")):
        await_up(run_dir, "robot", "planner")
    assert "key=None" in (run_dir / "log" / "robot.log").read_text()
    assert "key=sk-test" in (run_dir / "log" / "planner.log").read_text()


def test_the_control_line_leads_to_the_robot(folders: tuple[Path, Path]) -> None:
    base, run_dir = folders
    with supervise(base, run_dir, graph("robot", "gate")) as running:
        assert running.control is not None
        running.control.settimeout(20.0)
        assert running.control.recv(100) == b"here\n"
        await_up(run_dir, "robot", "gate")
    words = json.loads((run_dir / "log" / "gate.log").read_text().splitlines()[1].partition(" ")[2])
    assert "--control-fd" not in words


def test_a_missing_program_is_one_line_and_nothing_stays(folders: tuple[Path, Path]) -> None:
    base, run_dir = folders
    missing = Process("rviz", "rviz2", package="no_such_package")
    run = supervise(base, run_dir, (*graph("robot"), missing))
    with pytest.raises(UsageError, match="rviz needs the ROS 2 package no_such_package"):
        run.__enter__()
    assert run.supervisor.pids == {}
    run.taken.release()


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("put the cube: in the bowl # now", 'p:="put the cube: in the bowl # now"'),
        ("7", 'p:="7"'),
        ("", 'p:=""'),
        ('say "é"\n', 'p:="say \\"é\\"\\n"'),
        (True, "p:=true"),
        (1.0, "p:=1.0"),
        (3, "p:=3"),
    ],
)
def test_parameters_keep_their_type_on_the_command_line(value: object, word: str) -> None:
    assert supervisor.param_words({"p": value})[2:] == ["-p", word]  # type: ignore[dict-item]


@pytest.fixture
def outside_run(folders: tuple[Path, Path]) -> Iterator[tuple[subprocess.Popen[str], Path, Path]]:
    base, run_dir = folders
    words = [sys.executable, "-c", RUN, str(Path(__file__).parent), str(base), str(run_dir)]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    yield child, base, run_dir
    child.kill()
    child.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_in_order(
    outside_run: tuple[subprocess.Popen[str], Path, Path], number: signal.Signals
) -> None:
    child, base, run_dir = outside_run
    pids = await_up(run_dir, "robot", "gate", "planner")
    child.send_signal(number)
    out, _ = child.communicate(timeout=30)
    assert out.splitlines() == ["up", f"{number.name} received"]
    assert child.returncode == 0
    assert (run_dir / "ends").read_text().splitlines() == ["planner SIGTERM", "gate SIGTERM", "robot SIGTERM"]
    assert all(gone(pid) for pid in pids.values())
    assert not base.exists()


def test_a_killed_supervisor_leaves_no_process_and_no_file(
    outside_run: tuple[subprocess.Popen[str], Path, Path],
) -> None:
    child, base, run_dir = outside_run
    pids = await_up(run_dir, "robot", "gate", "planner")
    child.kill()
    child.wait()
    until(lambda: all(gone(pid) for pid in pids.values()), "the end of the processes")
    assert sorted((run_dir / "ends").read_text().splitlines()) == [
        "gate SIGTERM",
        "planner SIGTERM",
        "robot SIGTERM",
    ]
    until(lambda: not base.exists(), "the removal of the run's folder")
