"""Looks for what this machine lacks; every finding says what to install or do."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from pyrua_ros.doctor import machine, python, ros
from pyrua_ros.doctor.finding import Check, Finding

__all__ = ["Finding", "examine", "show"]

_CHECKS: tuple[Check, ...] = (*python.CHECKS, *ros.CHECKS, *machine.CHECKS)
_MARKS = {"ok": (32, "ok  "), "info": (36, "info"), "warn": (33, "warn"), "fail": (31, "FAIL")}


def _guarded(check: Check) -> list[Finding]:
    try:
        return list(check())
    except Exception as error:  # noqa: BLE001  (one broken check must not hide the others)
        name = check.__name__.replace("_", " ")
        return [Finding(name, "warn", f"could not be checked: {type(error).__name__}: {error}")]


def examine() -> list[Finding]:
    """Run every check; the slow ones side by side. Takes a few seconds."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        return [finding for findings in pool.map(_guarded, _CHECKS) for finding in findings]


def show(findings: list[Finding]) -> None:
    """Print the findings for a person."""
    colored = sys.stdout.isatty()
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        color, mark = _MARKS[finding.level]
        mark = f"\033[{color}m{mark}\033[0m" if colored else mark
        print(f"  {mark}  {finding.name:<{width}}  {finding.text}")
        if finding.fix:
            print(f"        {'':<{width}}  → {finding.fix}")
    failed = sum(finding.level == "fail" for finding in findings)
    print(
        "\nready"
        if failed == 0
        else f"\n{failed} of {len(findings)} must be put right before `pyrua demo` works"
    )
