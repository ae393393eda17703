from __future__ import annotations

import json

import numpy as np
import pytest

from pyrua_ros.planner.conversation import Conversation, Exchange
from pyrua_ros.planner.models.builtin import BuiltinModel, Goal, cell, decide, last_report, understand
from pyrua_ros.planner.parse import Cell, check_cell


@pytest.mark.parametrize(
    ("instruction", "goal"),
    [
        ("put the red cube in the bowl", Goal("red cube", "bowl", "in")),
        ("Pick up the red cube and put it in the bowl.", Goal("red cube", "bowl", "in")),
        ("please place the blue cylinder on top of the green box", Goal("blue cylinder", "green box", "on")),
        ("Could you pick the red block up, then drop it inside the bowl?", Goal("red block", "bowl", "in")),
        ("move red cube onto the plate", Goal("red cube", "plate", "on")),
        ("put the red cube into the blue bowl please", Goal("red cube", "blue bowl", "in")),
        ("grab the blue cylinder!", Goal("blue cylinder")),
        ("lift the cube", Goal("cube")),
    ],
)
def test_the_grammar_understands(instruction, goal):
    assert understand(instruction) == goal


@pytest.mark.parametrize(
    "instruction",
    [
        "",
        "open the door",
        "stack all cubes",
        "put it in the bowl",
        "pick up the red cube and the blue cube",
        "put the cube in the bowl in the corner",
        "put the cube in the cube",
        "take the banana and dance",
        "don't pick up the cube",
        "put the cube near the bowl",
    ],
)
def test_what_the_grammar_does_not_cover_is_a_failed_result_that_says_what_it_can(instruction, episode):
    run = episode(BuiltinModel(instruction), task=instruction)
    assert run.outcome.status == "failed"
    assert f"I don't understand '{instruction}'; I can pick up an object" in run.outcome.summary
    assert run.executor.cells == []


@pytest.mark.parametrize("stage", ["look", "grasp", "place", "check"])
@pytest.mark.parametrize(
    "goal", [Goal("it's a cube", "bowl"), Goal("red cube", "box", "on"), Goal("red cube")]
)
def test_every_cell_compiles(stage, goal):
    assert isinstance(check_cell(cell(stage, goal)), Cell)


def test_the_last_report_is_read_from_the_feedback():
    assert last_report('cell 1: ok\n{"stage": "look", "found": true}\n{"no": 1}') is None
    assert last_report('{"stage": "look"}\n{"stage": "grasp", "holding": true}')["holding"] is True
    assert last_report("Traceback") is None


@pytest.fixture
def table(episode, plain_executor):
    """Run an instruction on a table top: `table(task, robo)`."""

    def run(task: str, robo):
        return episode(BuiltinModel(task), task=task, executor=plain_executor(robo=robo, np=np))

    return run


def test_it_looks_grasps_places_and_checks(table, table_top):
    robo = table_top()
    run = table("put the red cube in the bowl", robo)
    assert run.outcome.status == "done"
    assert run.outcome.summary == "the red cube is in the bowl, 0 mm from its middle"
    assert run.outcome.cells == 4
    assert np.linalg.norm((robo.cube - robo.bowl)[:2]) < 0.01
    assert robo.shown == ["before", "after the attempt"]


def test_it_tries_again_when_the_fingers_closed_on_nothing(table, table_top):
    run = table("put the red cube in the bowl", table_top(slips=2))
    assert run.outcome.status == "done"
    assert sum("robo.grasp" in code for code in run.executor.cells) == 3


def test_it_notices_that_the_thing_was_lost_on_the_way(table, table_top):
    run = table("put the red cube in the bowl", table_top(lost=1))
    assert run.outcome.status == "done"
    assert sum("robo.grasp" in code for code in run.executor.cells) == 2


def test_it_keeps_hold_and_tries_the_way_again_when_it_is_blocked(table, table_top):
    run = table("put the red cube in the bowl", table_top(blocked=2))
    assert run.outcome.status == "done"
    assert sum("robo.grasp" in code for code in run.executor.cells) == 1


def test_it_puts_the_thing_back_before_it_begins_again(table, table_top):
    run = table("put the red cube in the bowl", table_top(blocked=3))
    assert run.outcome.status == "done"
    assert sum("robo.grasp" in code for code in run.executor.cells) == 2
    assert "putting it back" in run.executor.cells[5]


def test_a_thing_of_the_right_colour_alone_is_not_taken_for_it(table, table_top):
    robo = table_top(hidden=True)
    table("put the red mug in the bowl", robo)
    assert not [words for words in robo.asked if "object" in words]


def test_it_gives_up_after_three_attempts_and_says_why(table, table_top):
    run = table("put the red cube in the bowl", table_top(slips=99))
    assert run.outcome.status == "failed"
    assert "after 3 attempts: the red cube was not in the fingers" in run.outcome.summary


def test_it_looks_from_above_when_the_front_camera_sees_nothing(table, table_top):
    robo = table_top(blind_front=True)
    run = table("put the red cube in the bowl", robo)
    assert run.outcome.status == "done"
    assert robo.asked[:2] == ["red cube front", "red cube wrist"]


def test_it_says_what_it_cannot_find(table, table_top):
    run = table("put the red cube in the bowl", table_top(hidden=True))
    assert run.outcome.status == "failed"
    assert "I cannot find red cube: nothing red" in run.outcome.summary


def test_picking_up_ends_with_the_thing_in_the_fingers(table, table_top):
    robo = table_top()
    run = table("pick up the red cube", robo)
    assert run.outcome.status == "done"
    assert robo.held
    assert "40 mm wide" in run.outcome.summary


def test_a_cell_that_breaks_begins_a_new_attempt(episode, plain_executor, table_top):
    robo = table_top()
    calls = iter([RuntimeError("no frame")])
    segment = robo.segment

    def broken_once(what, camera):
        for error in calls:
            raise error
        return segment(what, camera)

    robo.segment = broken_once
    run = episode(BuiltinModel("pick up the cube"), task="", executor=plain_executor(robo=robo, np=np))
    assert run.outcome.status == "done"
    assert run.outcome.cells == 3


def test_decisions_follow_from_the_report_alone():
    conversation = Conversation("", "")
    goal = "put the red cube on the box"
    look = decide(goal, conversation).code
    conversation.exchanges.append(
        Exchange(look, "", json.dumps({"stage": "look", "found": True, "missing": ""}))
    )
    assert decide(goal, conversation).code == cell("grasp", Goal("red cube", "box", "on"))
