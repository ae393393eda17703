"""From a model's reply to exactly one action: a cell, the end, or a correction that says what to send instead.

A cell is run only when there is no doubt that it is meant to be: one call of the tool `python`, or a reply that
is nothing but one closed ```python (or ```py) block. Anything else runs nothing.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

PYTHON = "python"
FINISH = "finish"
FinishStatus = Literal["done", "failed"]

_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_FENCE_MARK = re.compile(r"^```", re.MULTILINE)
_LANGUAGES = ("python", "py")
_HOW = f"Call the tool {PYTHON} with one cell, or {FINISH}."


@dataclass(frozen=True)
class Cell:
    """Python to run; it compiles."""

    code: str


@dataclass(frozen=True)
class Finish:
    """The model says that the task is over."""

    status: FinishStatus
    summary: str


@dataclass(frozen=True)
class Problem:
    """The reply is no usable action; `correction` is what the model is told."""

    correction: str
    resend: bool = True  # False: the reply's own form is broken, do not send it back


Action = Cell | Finish | Problem


@dataclass(frozen=True)
class Call:
    """One tool call as the API delivered it."""

    name: str
    arguments: str  # free-form tools: the text itself; function tools: JSON
    free_form: bool = False


def parse(text: str, calls: Sequence[Call] = (), *, truncated: bool = False, refusal: str = "") -> Action:
    """The one action in a reply; never raises."""
    if truncated:
        return Problem(
            "Your reply was cut off at the token limit, so nothing was run. Send a shorter cell.", False
        )
    if refusal:
        return Problem(f"You declined ({refusal.strip()[:200]}). Nothing was run. {_HOW}")
    if len(calls) > 1:
        return Problem(f"Your reply had {len(calls)} tool calls, so nothing was run. One call per reply.")
    if calls:
        return _from_call(calls[0])
    return _from_text(text)


def check_cell(code: str) -> Cell | Problem:
    """A cell that compiles, or the correction that names the line."""
    code = code.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not code.strip():
        return Problem(f"The cell was empty. {_HOW}")
    if code.lstrip().startswith("```"):
        return Problem("Nothing was run: send the cell to the tool as plain code, without ``` fences.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "<cell>", "exec")
    except SyntaxError as error:
        where = f"line {error.lineno}" if error.lineno else "the cell"
        quoted = f": {error.text.strip()[:80]}" if error.text else ""
        return Problem(f"Nothing was run: the cell does not compile. {where}{quoted} -> {error.msg}")
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return Problem(f"Nothing was run: the cell does not compile: {type(error).__name__}: {error}")
    return Cell(code)


def _from_call(call: Call) -> Action:
    if call.name not in (PYTHON, FINISH):
        return Problem(
            f"There is no tool '{call.name}', so nothing was run. The tools are {PYTHON} and {FINISH}."
        )
    if call.free_form and call.name == PYTHON:
        return check_cell(call.arguments)
    try:
        arguments = json.loads(call.arguments, strict=False)
    except ValueError as error:
        return Problem(f"Nothing was run: the arguments of {call.name} are not JSON ({error}).", False)
    if not isinstance(arguments, dict):
        return Problem(f"Nothing was run: the arguments of {call.name} must be a JSON object.", False)
    if call.name == PYTHON:
        code = arguments.get("code")
        if not isinstance(code, str):
            return Problem('Nothing was run: python takes {"code": "<one cell>"}.')
        return check_cell(code)
    status, summary = arguments.get("status"), arguments.get("summary", "")
    if status not in ("done", "failed") or not isinstance(summary, str):
        return Problem(
            'Not finished: finish takes {"status": "done" or "failed", "summary": "<what happened>"}.'
        )
    return Finish(status, summary.strip())


def _from_text(text: str) -> Action:
    text = text.replace("\r\n", "\n").strip()
    if not text:
        return Problem(f"Your reply was empty. {_HOW}")
    blocks = list(_FENCE.finditer(text))
    marks = len(_FENCE_MARK.findall(text))
    if marks == 0:
        return Problem(f"Your reply had words but no call, so nothing was run. {_HOW}")
    if marks != 2 * len(blocks):
        return Problem(f"Nothing was run: a ``` block in your reply was not closed. {_HOW}")
    if len(blocks) > 1:
        return Problem(
            f"Your reply had {len(blocks)} code blocks, so none was run. One cell per reply. {_HOW}"
        )
    block = blocks[0]
    language = block[1].strip().lower()
    if block[0].strip() != text:
        return Problem(f"Nothing was run: there were words around the code block. {_HOW}")
    if language not in _LANGUAGES:
        shown = f"'{language}'" if language else "without a language"
        return Problem(f"Nothing was run: the code block is {shown}, only python is run. {_HOW}")
    return check_cell(block[2])
