from __future__ import annotations

import html.parser
import json
import math
import re

import pytest

from pyrua_ros.planner.report import render, tally
from pyrua_ros.planner.story import Step, read_run

JPEG = b"\xff\xd8\xff\xe0" + bytes(200) + b"\xff\xd9"


def write_run(path, *, result=True, joints=True, video=False, cut=False, **changes):
    """A run of two cells: one that reached, one whose motion the gate refused."""
    (path / "cells").mkdir(parents=True)
    (path / "frames").mkdir()
    (path / "cells" / "001.py").write_text('m = robo.home()\nprint("<b>bold</b>", m)\nrobo.show()\n')
    (path / "cells" / "002.py").write_text("print(robo.move_to([9, 9, 9]))\n")
    (path / "frames" / "001-1-front.jpg").write_bytes(JPEG)
    frames = [{"file": "001-1-front.jpg", "camera": "front", "label": "start"}]
    tokens = {"input": 2000, "cached": 1500, "output": 90, "reasoning": 0}
    lines = [
        {"t": 0.0, "event": "started", "task": "put <it> away", "model": "m", "planner": "openai", "wall": "2026-01-02T03:04:05"},
        {"t": 1.0, "event": "reply", "action": "problem", "said": "", "tokens": tokens},
        {"t": 1.0, "event": "correction", "text": "Your reply had 2 code blocks"},
        {"t": 1.1, "event": "retry", "reason": "answered 429", "wait_s": 0.5},
        {"t": 2.0, "event": "reply", "action": "cell", "said": "Going home.", "tokens": tokens},
        {"t": 2.0, "event": "cell", "cell": 1},
        {"t": 2.5, "event": "gate", "what": "accepted", "goal": "g1", "device": "arm", "source": "agent", "reason": ""},
        {"t": 4.0, "event": "gate", "what": "done", "goal": "g1", "device": "arm", "source": "agent", "reason": ""},
        {"t": 4.2, "event": "outcome", "cell": 1, "status": "ok", "seconds": 2.2, "frames": frames,
         "text": "<b>bold</b> Move(reached=True, status='done', reason='')"},
        {"t": 5.0, "event": "cell", "cell": 2},
        {"t": 5.2, "event": "gate", "what": "refused", "goal": "g2", "device": "arm", "source": "agent", "reason": "joint 2 too fast"},
        {"t": 6.0, "event": "outcome", "cell": 2, "status": "error", "seconds": 1.0, "frames": [],
         "text": "Move(reached=False, status='refused', reason='x')\nGrip(width=0.0401, holding=True, stalled=True)"},
        {"t": 7.0, "event": "finished", "status": "failed", "summary": "out of reach"},
    ]  # fmt: skip
    text = "\n".join(json.dumps(line) for line in lines) + "\n"
    (path / "events.jsonl").write_text(text[: text.index('{"t": 5.2')] + '{"t": 5.2, "ev' if cut else text)
    if result:
        facts = {
            "task": "put <it> away", "planner": "openai", "model": "m", "status": "failed", "summary": "out of reach",
            "claimed_success": False, "success": None, "llm_calls": 3, "tokens": tokens, "dollars": 0.0123,
            "elapsed_s": 7.0, "cells": 2, "corrections": 1, "retries": 1, "first_motion_s": 2.6, **changes,
        }  # fmt: skip
        (path / "result.json").write_text(json.dumps(facts))
    if joints:
        names = ",".join(f"fr3_joint{i}" for i in range(1, 8))
        rows = [
            f"{t / 20}," + ",".join(f"{math.sin(t / 30 + i):.4f}" for i in range(7)) + ",0.04"
            for t in range(150)
        ]
        (path / "joint_states.csv").write_text(f"t,{names},gripper_width\n" + "\n".join(rows) + "\n0.1,0.")
    if video:
        (path / "episode.webm").write_bytes(bytes(video))
    return path


class Page(html.parser.HTMLParser):
    """Text and sources of a page; checks that tags are closed in order."""

    VOID = ("meta", "img", "br", "link", "input", "use", "path")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.sources += [value for name, value in attributes if name == "src"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


def page_of(path) -> Page:
    page = Page(render(path).read_text())
    assert page.open == []
    return page


def test_the_report_tells_what_was_asked_what_happened_and_how_it_ended(tmp_path):
    page = page_of(write_run(tmp_path / "run"))
    for words in (
        "put <it> away",
        "Failed",
        "out of reach",
        "2,090",
        "$0.0123",
        "Going home.",
        "Your reply had 2 code blocks",
        "answered 429",
        "not reached: refused",
        "gate refused arm: joint 2 too fast",
        "holding, 40 mm",
        "1 arm motion carried out",
        "cell 2",
    ):
        assert words in page.words


def test_nothing_outside_the_file_is_needed(tmp_path):
    text = render(write_run(tmp_path / "run", video=5000)).read_text()
    page = Page(text)
    assert len(page.sources) == 3
    assert all(source.startswith("data:") for source in page.sources)
    assert not re.search(r'(?:href|src)="https?:', text)
    assert "<b>bold</b>" not in text


def test_a_long_film_is_linked(tmp_path):
    page = page_of(write_run(tmp_path / "run", video=9 * 2**20))
    assert "episode.webm" in page.sources


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({"success": True, "status": "done"}, "Success"),
        ({"success": False, "status": "done", "claimed_success": True}, "The model claimed success"),
        ({"status": "done"}, "Done, says the model; nobody checked"),
        ({"status": "budget"}, "Out of budget"),
        ({"status": "stopped"}, "Stopped"),
        ({"status": "cancelled"}, "Cancelled"),
        ({"status": "error"}, "Error"),
    ],
)
def test_the_banner_says_how_it_ended(tmp_path, changes, title):
    assert title in page_of(write_run(tmp_path / "run", **changes)).words


def test_a_run_that_was_killed_says_so_and_shows_what_there_is(tmp_path):
    page = page_of(write_run(tmp_path / "run", result=False, cut=True))
    assert "Cut off" in page.words
    assert "cut off while running" in page.words
    assert "put <it> away" in page.words


def test_a_score_alone_is_no_result(tmp_path):
    path = write_run(tmp_path / "run", result=False)
    (path / "result.json").write_text('{"success": false}')
    assert "Cut off" in page_of(path).words


def test_only_cells_are_enough(tmp_path):
    path = write_run(tmp_path / "run", result=False, joints=False)
    for name in ("events.jsonl", "frames/001-1-front.jpg"):
        (path / name).unlink()
    page = page_of(path)
    assert "robo.move_to" in page.words
    assert "not recorded" in page.words


def test_a_run_without_cells_has_a_report(tmp_path):
    path = tmp_path / "run"
    path.mkdir()
    (path / "result.json").write_text(json.dumps({"task": "t", "status": "error", "summary": "no key"}))
    assert "No cell was run." in page_of(path).words


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="is no run folder"):
        render(tmp_path)
    with pytest.raises(FileNotFoundError, match="is no folder"):
        render(tmp_path / "missing")


def test_motion_is_plotted_with_cells_and_refusals(tmp_path):
    text = render(write_run(tmp_path / "run")).read_text()
    assert '<svg class="plot"' in text
    for words in ("gripper, mm", "cell 1", "refused", "joint 7"):
        assert words in text


def test_a_broken_sample_is_skipped(tmp_path):
    story = read_run(write_run(tmp_path / "run"))
    assert story.joints is not None
    assert len(story.joints.times) == 150


def test_motions_and_grips_are_tallied_from_what_the_cell_printed():
    moves = "Move(reached=True, status='done') Move(reached=False, status='held', reason='x')"
    step = Step("cell", 0.0, text=f"{moves}\nGrip(width=0.0004, holding=False, stalled=True)")
    assert tally(step) == [("good", "reached"), ("bad", "not reached: held"), ("open", "not holding, 0 mm")]
