"""`./pyrua`: sets up once, again when it must, never twice at once, and never half. Python and pip are stand-ins."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pyrua_ros import paths

ROOT = paths.share()

#: Plays Python, venv and pip: writes down what it was asked for, can be told to fail or to take its time.
STAND_IN = """#!/usr/bin/env bash
here=$(dirname "$0")
case "$1 ${2:-} ${3:-}" in
    --version*) echo "Python 3.12.0" ;;
    "-c "*) exit 0 ;;
    "-m venv "*)
        folder=${!#}
        mkdir -p "$folder/bin"
        cp "$0" "$folder/bin/python"
        touch "$folder/bin/pyrua"
        echo "venv $*" >>"$TOLD" ;;
    "-m pip install")
        echo "pip $*" >>"$TOLD"
        echo "Collecting numpy<3,>=1.26"
        sleep "${PIP_TAKES:-0}"
        [[ -z ${PIP_FAILS:-} ]] || { echo "ERROR: no route to host"; exit 1; } ;;
    "- "*) echo "franky-sim>=1.0.4,<2" ;;
    *) shift; printf 'ran:'; printf ' <%s>' "$@"; echo; exit "${CODE:-0}" ;;
esac
"""


class Checkout:
    """A source tree with nothing but what the script reads."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        self.root.mkdir()
        for name in ("pyrua", "pyproject.toml", "setup.py"):
            shutil.copy(ROOT / name, self.root / name)
        stand_in = folder / "stand-in"
        stand_in.write_text(STAND_IN)
        stand_in.chmod(0o755)
        self.told_file = folder / "told"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYRUA_PYTHON": str(stand_in),
            "TOLD": str(self.told_file),
        }

    @property
    def told(self) -> list[str]:
        """What Python was asked for, shortened."""
        lines = self.told_file.read_text().splitlines() if self.told_file.exists() else []
        return [line.split()[0] + (" --no-deps" if "--no-deps" in line else "") for line in lines]

    def start(self, *words: str, **extra: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.root / "pyrua"), *words],
            env={**self.environment, **extra},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *words: str, **extra: str) -> tuple[int, str, str]:
        child = self.start(*words, **extra)
        out, errors = child.communicate(timeout=60)
        return child.returncode, out, errors


TOOLS = (
    "bash",
    "env",
    "readlink",
    "dirname",
    "cat",
    "cut",
    "sha256sum",
    "flock",
    "sleep",
    "grep",
    "sed",
    "rm",
)
SET_UP = ["venv", "pip", "pip --no-deps"]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_first_call_sets_up_and_says_so_and_the_next_does_not(checkout: Checkout) -> None:
    code, out, errors = checkout.run("demo", "task:=two words", "")
    assert (code, out) == (0, "ran: <demo> <task:=two words> <>\n")
    assert "first use: setting up .venv with Python 3.12.0" in errors
    assert checkout.told == SET_UP
    assert checkout.run("stop") == (0, "ran: <stop>\n", "")
    assert checkout.told == SET_UP


def test_the_exit_code_is_handed_on(checkout: Checkout) -> None:
    assert checkout.run("demo", CODE="3")[0] == 3


def test_a_changed_project_is_installed_again_into_the_same_environment(checkout: Checkout) -> None:
    checkout.run("stop")
    with open(checkout.root / "pyproject.toml", "a") as file:
        file.write("# changed\n")
    _, _, errors = checkout.run("stop")
    assert "bringing .venv up to date" in errors
    assert checkout.told == [*SET_UP, "pip", "pip --no-deps"]


def test_a_folder_that_was_moved_is_installed_again(checkout: Checkout) -> None:
    checkout.run("stop")
    checkout.root = checkout.root.rename(checkout.root.with_name("moved"))
    checkout.run("stop")
    assert checkout.told == [*SET_UP, "pip", "pip --no-deps"]


def test_two_first_calls_set_up_once(checkout: Checkout) -> None:
    first = checkout.start("one", PIP_TAKES="1")
    until(lambda: "pip" in checkout.told)
    code, out, errors = checkout.run("two")
    assert (code, out) == (0, "ran: <two>\n")
    assert "another set-up is running here" in errors
    assert first.communicate(timeout=30)[0] == "ran: <one>\n"
    assert checkout.told == SET_UP


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_set_up_starts_again_from_nothing(checkout: Checkout, number: signal.Signals) -> None:
    # What a killed script started goes on, and the next call waits for it.
    child = checkout.start("demo", PIP_TAKES="2" if number == signal.SIGKILL else "60")
    until(lambda: "pip" in checkout.told)
    (checkout.root / ".venv" / "half").touch()
    if number == signal.SIGKILL:
        os.killpg(child.pid, number)
    else:
        child.send_signal(number)
    out, errors = child.communicate(timeout=30)
    assert out == ""
    if number == signal.SIGTERM:
        assert "interrupted; the next call starts it again" in errors
        assert child.returncode == 130
    code, out, errors = checkout.run("demo")
    assert (code, out) == (0, "ran: <demo>\n")
    assert "an earlier set-up did not finish" in errors
    assert not (checkout.root / ".venv" / "half").exists()


def test_a_failed_installation_shows_why_and_runs_nothing(checkout: Checkout) -> None:
    code, out, errors = checkout.run("demo", PIP_FAILS="yes")
    assert (code, out) == (1, "")
    assert "ERROR: no route to host" in errors
    assert "is the network reachable?" in errors
    assert checkout.run("demo")[:2] == (0, "ran: <demo>\n")
    assert checkout.told == ["venv", "pip", "pip", "pip --no-deps"]


def test_with_a_sourced_ros_its_own_python_and_rclpy_are_used(checkout: Checkout, tmp_path: Path) -> None:
    tools = tmp_path / "ros"
    tools.mkdir()
    shutil.copy(checkout.environment["PYRUA_PYTHON"], tools / "python3")
    code, out, errors = checkout.run(
        "doctor",
        PATH=f"{tools}:{checkout.environment['PATH']}",
        PYRUA_PYTHON="",
        ROS_DISTRO="jazzy",
        AMENT_PREFIX_PATH="/opt/ros/jazzy",
    )
    assert (code, out) == (0, "ran: <doctor>\n")
    assert "setting up .venv-jazzy" in errors
    made, installed, _ = checkout.told_file.read_text().splitlines()
    assert "--system-site-packages" in made
    assert installed.endswith("[dev]")
    assert not (checkout.root / ".venv").exists()


def test_without_a_python_it_says_what_to_install(checkout: Checkout, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in (*TOOLS, "mkdir", "touch", "tail"):
        path = shutil.which(name)
        if path is not None:
            (tools / name).symlink_to(path)
    code, out, errors = checkout.run("demo", PATH=str(tools), PYRUA_PYTHON="")
    assert (code, out) == (1, "")
    assert "no Python 3.10 to 3.13 with the venv module was found" in errors
    assert "sudo apt install python3 python3-venv" in errors
    assert not (checkout.root / ".venv").exists()


def test_it_works_through_a_link_and_from_elsewhere(checkout: Checkout, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(checkout.root / "pyrua")
    done = subprocess.run(
        [str(link), "stop"], cwd="/", env=checkout.environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ran: <stop>\n")
