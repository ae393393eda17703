"""What `pyrua test` runs, in this order: ruff, its formatter, mypy, pytest; all of them, also after a failure."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from collections.abc import Sequence

from pyrua_ros import paths
from pyrua_ros.arguments import UsageError


def _commands(pytest_words: Sequence[str]) -> dict[str, list[str]]:
    start = [sys.executable, "-m"]
    return {
        "ruff check": [*start, "ruff", "check", "."],
        "ruff format": [*start, "ruff", "format", "--check", "."],
        "mypy": [*start, "mypy"],
        "pytest": [*start, "pytest", *pytest_words],
    }


def run(pytest_words: Sequence[str]) -> int:
    """Run every check, print a summary, return 0 when all passed."""
    root = paths.share()
    if not (root / "pyproject.toml").exists():
        raise UsageError(f"tests need the source tree, and {root} is an installed one: clone the repository")
    missing = [name for name in ("ruff", "mypy", "pytest") if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"{', '.join(missing)} not installed: pip install -e '{root}[dev]'")
    rows = []
    for name, words in _commands(pytest_words).items():
        print(f"== {name}", flush=True)
        began = time.monotonic()
        code = subprocess.run(words, cwd=root, check=False).returncode
        rows.append((name, code, time.monotonic() - began))
        if code < 0:
            break
    print("\n== summary")
    for name, code, seconds in rows:
        print(f"  {'ok  ' if code == 0 else 'FAIL'}  {name:<12} {seconds:6.1f} s")
    return 0 if all(code == 0 for _, code, _ in rows) else 1
