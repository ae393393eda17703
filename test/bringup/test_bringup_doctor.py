"""The doctor: what it finds here, and what it says when something is missing."""

from __future__ import annotations

import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from pyrua_ros import doctor, domain, remains
from pyrua_ros.doctor import Finding, machine, python, ros
from pyrua_ros.doctor.finding import try_python


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain, "base_folder", lambda: tmp_path / "base")


def found(check: object, name: str) -> Finding:
    return next(finding for finding in check() if finding.name == name)  # type: ignore[operator]


def test_here_the_libraries_import_and_their_versions_are_named() -> None:
    finding = found(python.libraries, "libraries")
    assert finding.level == "ok"
    assert "mujoco " in finding.text


def test_here_two_processes_hear_each_other() -> None:
    assert found(ros.discovery, "ROS discovery").level == "ok"


def test_a_domain_that_the_doctor_took_is_given_back(tmp_path: Path) -> None:
    list(ros.discovery())
    assert not (tmp_path / "base").exists()


def test_without_egl_it_names_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "try_python", lambda *_, **__: (False, "ImportError: Cannot initialize EGL"))
    finding = found(machine.rendering, "cameras")
    assert finding.level == "fail"
    assert finding.text == "ImportError: Cannot initialize EGL"
    assert "libegl1 libgl1-mesa-dri" in finding.fix


def test_a_small_shared_memory_is_a_failure_that_says_how_to_enlarge_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(64 << 20, 60 << 20, 4 << 20))
    finding = found(machine.shared_memory, "shared memory")
    assert finding.level == "fail"
    assert "4 of 64 MiB free" in finding.text
    assert "--shm-size" in finding.fix


def test_files_of_other_users_in_shared_memory_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remains, "SHARED_MEMORY", tmp_path)
    (tmp_path / "fastdds_0123456789abcdef").touch()
    assert [finding.name for finding in machine.shared_memory()] == ["shared memory"]
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    finding = found(machine.shared_memory, "mixed users")
    assert finding.level == "warn"
    assert "as one user" in finding.fix


def test_a_layer_that_the_kernel_lacks_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    report = '{"landlock": "no: not supported", "seccomp": "yes"}'
    monkeypatch.setattr(machine, "try_python", lambda *_, **__: (True, report))
    finding = found(machine.kernel_layers, "containment")
    assert finding.level == "warn"
    assert finding.text == "missing: landlock (not supported); held: seccomp"


def test_a_key_is_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    finding = found(python.api_key, "OPENAI_API_KEY")
    assert (finding.level, finding.text, finding.fix) == ("ok", "set", "")


def test_a_check_that_breaks_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_check() -> list[Finding]:
        raise OSError("no such file")

    monkeypatch.setattr(doctor, "_CHECKS", (broken_check, python.python_version))
    first, second = doctor.examine()[:2]
    assert first == Finding("broken check", "warn", "could not be checked: OSError: no such file")
    assert second.name == "Python"


def test_a_process_that_hangs_or_dies_is_told_apart() -> None:
    assert try_python("print('a'); print('b')") == (True, "b")
    assert try_python("import sys; sys.exit('what went wrong')") == (False, "what went wrong")
    assert try_python("import os; os.abort()") == (False, "ended by signal 6")
    assert try_python("import time; time.sleep(60)", timeout_s=0.5) == (False, "no answer within 0.5 s")
