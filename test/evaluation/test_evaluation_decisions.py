from __future__ import annotations

import re

import pytest

from pyrua_ros.evaluation.decisions import scripts
from pyrua_ros.planner.conversation import Conversation, Exchange
from pyrua_ros.planner.parse import Cell, check_cell


def answers(task: str, *feedback: str):
    """What is said after these cells: (words, tool calls)."""
    conversation = Conversation("", task, exchanges=[Exchange("x", "", text) for text in feedback])
    for script in scripts():
        match = script.task.fullmatch(task)
        if match is not None:
            return script.play(match, conversation)
    return None


def test_every_cell_of_every_script_compiles_and_every_script_ends():
    for script in scripts():
        assert all(isinstance(check_cell(d.cell), Cell) for d in script.decisions if d.cell is not None)
        assert script.decisions[-1].finish == "done"


def test_decisions_follow_each_other_and_carry_the_words_of_the_task():
    task = "put the red cube in the bowl"
    first = answers(task)
    assert first.text == "First I look for both."
    assert "robo.segment('red cube')" in first.calls[0][1] or 'robo.segment("red cube")' in first.calls[0][1]
    second = answers(task, "Segment(found=True)\nSegment(found=True)")
    assert second.text.startswith("One side view hides half")
    seen = "found=True found=True"
    end = answers(task, seen, seen, "held", "let go", "there")
    assert end.calls[0] == (
        "finish",
        {"status": "done", "summary": "The red cube is in the bowl; I have seen it there."},
    )


def test_what_was_not_expected_begins_anew_three_times_at_most():
    task = "put the red cube on the plate"
    assert answers(task, "found=True found=False").text == "First I look for both."
    end = answers(task, "found=False", "found=True found=True", "Traceback", "nothing: no red cube")
    assert end.calls[0][1]["status"] == "failed"
    assert "after 3 attempts; the last cell said: nothing: no red cube" in end.calls[0][1]["summary"]


@pytest.mark.parametrize("task", ["swap the red cube and the blue cube", "put it away"])
def test_other_tasks_are_left_to_the_built_in_planner(task):
    assert answers(task) is None


def test_words_of_a_task_are_filled_in_everywhere():
    for script in scripts():
        names = set(script.task.groupindex)
        for decision in script.decisions:
            used = set(re.findall(r"\{(\w+)\}", f"{decision.cell or ''}{decision.summary}"))
            assert used <= names
