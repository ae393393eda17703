from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from pyrua_ros.planner.conversation import Conversation, Exchange
from pyrua_ros.planner.models.builtin import BuiltinModel, decide
from pyrua_ros.planner.models.builtin.episode import last_report
from pyrua_ros.planner.models.builtin.grammar import understand
from pyrua_ros.planner.models.builtin.skills import steps
from pyrua_ros.planner.models.builtin.toolbox import TOOLBOX
from pyrua_ros.planner.parse import Cell, check_cell

EVERY = (
    "pick up the red cube",
    "put the cube left of the bowl in the bowl",
    "put the red cube on the plate",
    "sort the cubes by colour into the bowls",
    "swap the red cube and the blue cylinder",
    "push the red cube into the blue zone",
    "open the drawer",
    "press the button",
)
STAGES = ("look", "grasp", "place", "check", "push", "pull", "press")


@pytest.mark.parametrize("instruction", EVERY)
def test_every_cell_of_every_step_compiles(instruction):
    goals = understand(instruction)
    assert goals is not None
    for step in (step for goal in goals for step in steps(goal)):
        for stage in STAGES:
            code = step.cell(stage)
            assert isinstance(check_cell(code), Cell)
            assert "\nreport(" in f"\n{code}"


def test_the_toolbox_compiles():
    assert isinstance(check_cell(TOOLBOX), Cell)


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
    assert sum("= grasp(thing)" in code for code in run.executor.cells) == 3


def test_it_notices_that_the_thing_was_lost_on_the_way(table, table_top):
    run = table("put the red cube in the bowl", table_top(lost=1))
    assert run.outcome.status == "done"
    assert sum("= grasp(thing)" in code for code in run.executor.cells) == 2


def test_it_keeps_hold_and_tries_the_way_again_when_it_is_blocked(table, table_top):
    run = table("put the red cube in the bowl", table_top(blocked=4))
    assert run.outcome.status == "done"
    assert sum("= grasp(thing)" in code for code in run.executor.cells) == 1


def test_it_puts_the_thing_back_before_it_begins_again(table, table_top):
    run = table("put the red cube in the bowl", table_top(blocked=9))
    assert run.outcome.status == "done"
    assert sum("= grasp(thing)" in code for code in run.executor.cells) == 2
    assert run.executor.cells[5].splitlines()[1] == "empty_hand()"


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


def told(conversation: Conversation, code: str, **report) -> None:
    conversation.exchanges.append(Exchange(code, "", json.dumps(report)))


def test_decisions_follow_from_the_report_alone():
    conversation, goal = Conversation("", ""), "put the red cube on the box"
    told(conversation, decide(goal, conversation).code, stage="look", found=True, missing="")
    assert decide(goal, conversation).code.startswith(
        "# step 1/1, put the red cube on the box: grasp, attempt 1\n"
    )


def test_the_steps_of_a_sequence_follow_each_other():
    conversation, task = Conversation("", ""), "stack the red cube on the blue cube, then press the button"
    told(conversation, decide(task, conversation).code, stage="look", found=True, missing="")
    told(conversation, decide(task, conversation).code, stage="grasp", holding=True, width=0.04, reason="")
    told(
        conversation, decide(task, conversation).code, stage="place", placed=True, still_held=True, reason=""
    )
    told(conversation, decide(task, conversation).code, stage="check", seen=True, there=True, away_m=0.002)
    assert decide(task, conversation).code.startswith("# step 2/2, press the button: look, attempt 1\n")
    told(conversation, decide(task, conversation).code, stage="look", found=True, missing="")
    told(conversation, decide(task, conversation).code, stage="press", pressed=True, depth_m=0.009, reason="")
    done = decide(task, conversation)
    assert (done.status, done.summary) == ("done", "the button gave way by 9 mm, after 2 steps")


def test_what_was_noted_is_told_to_a_kernel_that_has_forgotten_it():
    conversation, task = Conversation("", ""), "swap the red cube and the blue cube"
    spots = {"free": [0.5, 0.0], "first": [0.4, 0.1], "second": [0.6, 0.1]}
    told(conversation, decide(task, conversation).code, stage="look", found=True, missing="", spots=spots)
    code = decide(task, conversation).code
    assert code.startswith("# step 2/4, move the red cube to a free place: look")
    conversation.exchanges.append(Exchange(code, "", "NameError: name 'empty_hand' is not defined"))
    again = decide(task, conversation).code
    assert "attempt 2" in again
    assert f"spots.update({spots})" in again
    assert "def grasp(" in again


def toolbox(**names) -> dict:
    """What the toolbox defines, on a `robo` of the test's own."""
    namespace = {"np": np, **names}
    exec(TOOLBOX.replace("time.sleep(rest)", "None"), namespace)  # noqa: S102
    return namespace


def test_what_a_busy_machine_missed_is_asked_for_once_more():
    class NoStateError(Exception):
        pass

    answers = iter([NoStateError("too old"), NoStateError("too old"), "state"])

    def state():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert toolbox()["again"](state) == "state"
    held = iter([SimpleNamespace(reason="held: no joint_states for 0.22 s"), SimpleNamespace(reason="")])
    assert toolbox()["again"](lambda: next(held)).reason == ""


def test_misuse_is_not_tried_again():
    calls = []

    def misused():
        calls.append(1)
        raise ValueError("width")

    with pytest.raises(ValueError, match="width"):
        toolbox()["again"](misused)
    assert calls == [1]


def test_a_free_place_is_one_that_is_seen_and_has_room():
    y, x = np.mgrid[-0.3:0.3:0.005, 0.3:0.7:0.005]
    points = np.dstack([x, y, np.zeros_like(x)])
    points[(np.abs(x - 0.5) < 0.05) & (np.abs(y) < 0.05), 2] = 0.04
    spot = toolbox(robo=SimpleNamespace(world_map=lambda camera: points))["free_spot"]()
    away = max(abs(spot[0] - 0.5), abs(spot[1]))
    assert 0.1 < away < 0.15


def test_sorting_goes_on_until_nothing_is_left_and_each_thing_has_its_own_attempts():
    conversation, task = Conversation("", ""), "sort the cubes by colour into the bowls"
    told(conversation, decide(task, conversation).code, stage="look", found=True, missing="")
    told(conversation, decide(task, conversation).code, stage="grasp", holding=False, width=0.0, reason="")
    assert "look, attempt 2" in decide(task, conversation).code
    told(conversation, decide(task, conversation).code, stage="look", found=True, missing="")
    told(conversation, decide(task, conversation).code, stage="grasp", holding=True, width=0.04, reason="")
    told(
        conversation, decide(task, conversation).code, stage="place", placed=True, still_held=True, reason=""
    )
    assert "look, attempt 1" in decide(task, conversation).code
    told(conversation, decide(task, conversation).code, stage="look", found=False, missing="")
    assert decide(task, conversation).summary == "no cube is left outside of the bowls"
