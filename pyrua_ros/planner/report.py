"""report.html of a run: one file that tells a stranger what was asked, what was done, and how it ended."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, select_autoescape
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from pyrua_ros.planner.plots import motion_plot
from pyrua_ros.planner.record import write_atomic
from pyrua_ros.planner.story import FrameFile, Step, Story, read_run

_LARGEST_VIDEO = 8 * 2**20
_LARGEST_FRAMES = 24 * 2**20
_LONGEST_OUTPUT = 20_000
_CODE_STYLE = "friendly"

_RESULT = re.compile(r"\b(?P<kind>Move|Grip)\((?P<flag>reached|width)=(?P<value>[^,]+),(?P<rest>[^)\n]*)")


@dataclass(frozen=True)
class Banner:
    """The outcome in one look."""

    tone: str  # good | bad | open
    title: str
    detail: str


def render(run_dir: Path) -> Path:
    """Write `run_dir`/report.html and return its path; raises FileNotFoundError when it is no run folder."""
    story = read_run(run_dir)
    formatter = HtmlFormatter(style=_CODE_STYLE, nowrap=True)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
    )
    embed = _Embedder(run_dir)
    environment.filters.update(
        code=lambda text: Markup(highlight(text, PythonLexer(), formatter)),
        output=_output,
        picture=embed.frame,
        seconds=_seconds,
        tally=tally,
        thousands=lambda number: f"{number:,}",
    )
    prompt = run_dir / "prompt.md"
    page = environment.get_template("report.html.j2").render(
        story=story,
        task=story.result.get("task") or story.started.get("task") or "(the task is not recorded)",
        banner=banner(story),
        figures=figures(story),
        video=embed.video(),
        plot=Markup(motion_plot(story) or ""),
        before=story.frames[0] if story.frames else None,
        after=story.frames[-1] if len(story.frames) > 1 else None,
        code_style=Markup(HtmlFormatter(style=_CODE_STYLE).get_style_defs(".code")),
        prompt=prompt.read_text(encoding="utf-8") if prompt.is_file() else "",
        result=json.dumps(story.result, indent=2, ensure_ascii=False) if story.result else "",
    )
    path = run_dir / "report.html"
    write_atomic(path, page)
    return path


def banner(story: Story) -> Banner:
    """How the run ended: what the model says, and what a check says where there was one."""
    result = story.result
    if not story.complete:
        last = (
            f" Last recorded: {story.steps[-1].kind} at {story.steps[-1].start_s:.1f} s."
            if story.steps
            else ""
        )
        return Banner(
            "bad", "Cut off", f"The record ends without a result: the run was killed or broke.{last}"
        )
    status, summary = str(result.get("status", "")), str(result.get("summary", ""))
    if result.get("success") is True:
        return Banner("good", "Success", f"Checked on the simulator's state. The model: {summary}")
    if result.get("success") is False:
        claimed = (
            "The model claimed success"
            if result.get("claimed_success")
            else f"The model ended with '{status}'"
        )
        return Banner("bad", "No success", f"Checked on the simulator's state. {claimed}: {summary}")
    titles = {
        "done": ("open", "Done, says the model; nobody checked"),
        "failed": ("bad", "Failed"),
        "budget": ("bad", "Out of budget"),
        "cancelled": ("open", "Cancelled"),
        "stopped": ("bad", "Stopped"),
        "error": ("bad", "Error"),
    }
    tone, title = titles.get(status, ("open", status or "Unknown"))
    return Banner(tone, title, summary)


def figures(story: Story) -> list[tuple[str, str, str]]:
    """(name, value, small print) of the key figures."""
    result, tokens = story.result, story.result.get("tokens") or {}
    who = str(result.get("planner") or story.started.get("planner") or "?")
    model = str(result.get("model") or story.started.get("model") or "")
    found = [("planner", who, model if model != who else "")]
    if result.get("scene") or result.get("robot"):
        found.append(
            (
                "robot",
                str(result.get("robot") or "?"),
                f"scene {result['scene']}" if result.get("scene") else "",
            )
        )
    cells = [step for step in story.cells if step.status]
    wrong = sum(step.status not in ("ok", "running", "unknown") for step in cells)
    found.append(("cells", str(len(cells)), f"{wrong} with an error" if wrong else ""))
    if tokens.get("input"):
        corrections = f"{result.get('corrections', 0)} corrections, {result.get('retries', 0)} retries"
        found.append(("model calls", str(result.get("llm_calls", "?")), corrections))
        total = tokens.get("input", 0) + tokens.get("output", 0)
        small = f"in {tokens.get('input', 0):,} (cached {tokens.get('cached', 0):,}), out {tokens.get('output', 0):,}"
        found.append(
            ("tokens", f"{total:,}", small + (", estimated" if result.get("tokens_estimated") else ""))
        )
        dollars = result.get("dollars")
        found.append(("cost", "unknown" if dollars is None else f"${dollars:.4f}", ""))
    if story.frames:
        found.append(("frames sent", str(len(story.frames)), ""))
    if result.get("elapsed_s") is not None:
        found.append(("time", _seconds(result["elapsed_s"]), "task to result"))
    if result.get("first_motion_s") is not None:
        found.append(("first motion", _seconds(result["first_motion_s"]), "after the task"))
    return found


def tally(step: Step) -> list[tuple[str, str]]:
    """(tone, words) for the motions and grips of a cell, from what it printed and what the gate said."""
    words = []
    for match in _RESULT.finditer(step.text):
        if match["kind"] == "Move":
            good = match["value"] == "True"
            words.append(
                (
                    "good" if good else "bad",
                    "reached" if good else f"not reached: {_field(match['rest'], 'status')}",
                )
            )
        else:
            good = "holding=True" in match["rest"]
            words.append(
                (
                    "good" if good else "open",
                    f"{'holding' if good else 'not holding'}, {float_mm(match['value'])}",
                )
            )
    for goal in step.goals:
        if goal.outcome in ("refused", "held", "preempted"):
            words.append(("bad", f"gate {goal.outcome} {goal.device}: {goal.reason}".strip(": ")))
    moves = [goal for goal in step.goals if goal.device == "arm" and goal.outcome == "done"]
    if moves:
        words.append(("open", f"{len(moves)} arm motion{'s' if len(moves) > 1 else ''} carried out"))
    return words


def float_mm(text: str) -> str:
    """Metres as the cell printed them, in whole millimetres."""
    try:
        return f"{1000 * float(text):.0f} mm"
    except ValueError:
        return text


def _field(text: str, name: str) -> str:
    match = re.search(rf"{name}='([^']*)'", text)
    return match[1] if match else "?"


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 120 else f"{int(value // 60)} min {int(value % 60)} s"


def _output(text: str) -> Markup:
    """Escaped output with verdicts in colour."""
    shown = str(escape(text[:_LONGEST_OUTPUT]))
    if len(text) > _LONGEST_OUTPUT:
        shown += f"\n[{len(text) - _LONGEST_OUTPUT:,} characters more in events.jsonl]"
    shown = re.sub(r"\b(reached|holding|found)=True\b", r'<b class="yes">\1=True</b>', shown)
    shown = re.sub(r"\b(reached|holding|found)=False\b", r'<b class="no">\1=False</b>', shown)
    return Markup(shown)


class _Embedder:
    """Files as data URLs while they are small, as links beyond."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._left = _LARGEST_FRAMES

    def frame(self, frame: FrameFile) -> str:
        """The `src` of a frame."""
        size = frame.path.stat().st_size
        if size > self._left:
            return f"frames/{frame.path.name}"
        self._left -= size
        return _data_url(frame.path, "image/jpeg")

    def video(self) -> dict[str, Any] | None:
        """`src` and size of the episode's film, if there is one."""
        path = self._run_dir / "episode.webm"
        if not path.is_file() or path.stat().st_size < 1000:
            return None
        size = path.stat().st_size
        return {
            "src": _data_url(path, "video/webm") if size <= _LARGEST_VIDEO else path.name,
            "mb": size / 2**20,
        }


def _data_url(path: Path, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
