"""From an instruction and the cells so far to the next cell: an attempt at each step, and a new one when it failed."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

from pyrua_ros.planner.conversation import Conversation, Exchange
from pyrua_ros.planner.models.builtin.grammar import CAN, understand
from pyrua_ros.planner.models.builtin.skills import Achieved, Again, Go, Skill, steps
from pyrua_ros.planner.models.builtin.toolbox import TOOLBOX
from pyrua_ros.planner.parse import Action, Cell, Finish

ATTEMPTS = 3

_HEADER = re.compile(r"^# step (\d+)/\d+, .*: (\w+), attempt (\d+)$", re.MULTILINE)


def last_report(feedback: str) -> dict[str, Any] | None:
    """The last line of JSON that a cell reported; None when it did not get that far."""
    for line in reversed(feedback.splitlines()):
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except ValueError:
                return None
            return found if isinstance(found, dict) and "stage" in found else None
    return None


def decide(task: str, conversation: Conversation) -> Action:
    """The next cell, from the instruction and what the last cell reported."""
    goals = understand(task)
    if goals is None:
        return Finish("failed", f"I don't understand '{task}'; I can {CAN}")
    plan = [step for goal in goals for step in steps(goal)]
    last = next((e for e in reversed(conversation.exchanges) if e.code is not None), None)
    where = _HEADER.search(last.code) if last is not None and last.code is not None else None
    if last is None or where is None:
        return _cell(plan, 0, plan[0].first, 1, define=True)
    number, stage, attempt = int(where[1]) - 1, where[2], int(where[3])
    report = last_report(last.feedback)
    broken = report is None
    found = plan[number].after(stage, report) if report is not None else Again(_why(last))
    if isinstance(found, Go):
        return _cell(plan, number, found.stage, 1 if found.progress else attempt)
    if isinstance(found, Again):
        if found.repeat and _repeats(conversation, last) < ATTEMPTS:
            return _cell(plan, number, stage, attempt)
        if attempt >= ATTEMPTS:
            return Finish("failed", f"after {attempt} attempts: {found.why}")
        first = plan[number].first
        return _cell(plan, number, first, attempt + 1, define=broken, noted=_noted(conversation))
    if number + 1 < len(plan):
        return _cell(plan, number + 1, plan[number + 1].first, 1)
    return Finish("done", _summary(plan, found))


def _cell(
    plan: list[Skill], number: int, stage: str, attempt: int, *, define: bool = False, noted: str = ""
) -> Cell:
    step = plan[number]
    header = f"# step {number + 1}/{len(plan)}, {step}: {stage}, attempt {attempt}\n"
    return Cell(header + (f"{TOOLBOX}\n{noted}" if define else "") + step.cell(stage))


def _noted(conversation: Conversation) -> str:
    """What an earlier cell wrote down, for a kernel that has forgotten it."""
    for exchange in reversed(conversation.exchanges):
        report = last_report(exchange.feedback)
        if report is not None and report.get("spots"):
            return f"spots.update({report['spots']})\n"
    return ""


def _repeats(conversation: Conversation, last: Exchange) -> int:
    """How often in a row the last cell was sent."""
    again = itertools.takewhile(lambda e: e.code == last.code, reversed(conversation.exchanges))
    return sum(1 for _ in again)


def _why(exchange: Exchange) -> str:
    lines = exchange.feedback.strip().splitlines()
    return lines[-1][:200] if lines else "a cell printed nothing"


def _summary(plan: list[Skill], last: Achieved) -> str:
    return last.words if len(plan) == 1 else f"{last.words}, after {len(plan)} steps"
