"""One thing that was looked at, and how other processes are tried out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

Level = Literal["ok", "info", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """What was found; `fix` says what to do about it."""

    name: str
    level: Level
    text: str
    fix: str = ""

    def as_dict(self) -> dict[str, str]:
        """For JSON."""
        return asdict(self)


Check = Callable[[], Iterable[Finding]]


def try_python(
    code: str, *words: str, env: Mapping[str, str] | None = None, timeout_s: float = 30.0
) -> tuple[bool, str]:
    """Run `code` in a Python of its own; returns whether it worked, and its last line."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"no answer within {timeout_s:g} s"
    lines = (done.stdout if done.returncode == 0 else done.stderr or done.stdout).strip().splitlines()
    ending = lines[-1] if lines else ""
    if done.returncode < 0:
        ending = f"ended by signal {-done.returncode} {ending}".strip()
    return done.returncode == 0, ending
