from __future__ import annotations

import pytest
import yaml

from pyrua_ros import paths
from pyrua_ros.planner.models.builtin import BuiltinModel, understand
from pyrua_ros.planner.models.builtin.goals import Goal, Open, Pick, Place, Press, Push, Sort, Swap
from pyrua_ros.planner.models.builtin.phrases import color, head, noun_phrase


@pytest.mark.parametrize(
    ("instruction", "goals"),
    [
        ("put the red cube in the bowl", [Place("red cube", "bowl", "in")]),
        ("Pick up the red cube and put it in the bowl.", [Place("red cube", "bowl", "in")]),
        (
            "please place the blue cylinder on top of the green box",
            [Place("blue cylinder", "green box", "on")],
        ),
        (
            "Could you pick the red block up, then drop it inside the bowl?",
            [Place("red block", "bowl", "in")],
        ),
        ("move red cube onto the plate", [Place("red cube", "plate", "on")]),
        ("put the red cube into the blue bowl please", [Place("red cube", "blue bowl", "in")]),
        ("grab the blue cylinder!", [Pick("blue cylinder")]),
        ("grab the small red cube and hold it up", [Pick("small red cube")]),
        ("take the cube that is to the left of the bowl off the table", [Pick("cube left of the bowl")]),
        ("put the cube on the plate in the bowl", [Place("cube on the plate", "bowl", "in")]),
        ("stack the red cube on the blue one", [Place("red cube", "blue cube", "on")]),
        (
            "put the red cube in the bowl and the green cube on the plate, then press the button",
            [Place("red cube", "bowl", "in"), Place("green cube", "plate", "on"), Press("button")],
        ),
        (
            "build a tower: red cube at the bottom, blue cube in the middle, green cube on top",
            [Place("blue cube", "red cube", "on"), Place("green cube", "blue cube", "on")],
        ),
        (
            "stack the blocks from top to bottom: red, green, blue",
            [Place("green block", "blue block", "on"), Place("red block", "green block", "on")],
        ),
        ("sort the cubes by colour into the bowls", [Sort("cube", "bowl")]),
        ("put every block into the bowl with the same color", [Sort("block", "bowl")]),
        (
            "put the red cubes in the red bowl and the blue cubes in the blue bowl",
            [Sort("cube", "bowl", ("red", "blue"))],
        ),
        ("switch the places of the red cube and the blue one", [Swap("red cube", "blue cube")]),
        ("nudge the red cube over to the green square", [Push("red cube", "green square")]),
        ("pull the red drawer open", [Open("red drawer")]),
        ("push the button down, then open the drawer", [Press("button"), Open("drawer")]),
    ],
)
def test_the_grammar_understands(instruction, goals):
    assert understand(instruction) == tuple(goals)


@pytest.mark.parametrize(
    "instruction",
    [
        "",
        "open the door",
        "stack all cubes",
        "sort everything",
        "put it in the bowl",
        "pick up the red cube and the blue cube",
        "put the red cubes in the blue bowl",
        "put the cube in the bowl in the corner",
        "put the cube in the cube",
        "take the banana and dance",
        "don't pick up the cube",
        "put the cube near the bowl",
        "swap the cube",
        "stack three cubes: red, red and blue",
        "pick up the red cube, then press the button",
    ],
)
def test_what_the_grammar_does_not_cover_is_a_failed_result_that_says_what_it_can(instruction, episode):
    run = episode(BuiltinModel(instruction), task=instruction)
    assert run.outcome.status == "failed"
    assert (
        f"I don't understand '{instruction}'; I can pick something up, put it in or on" in run.outcome.summary
    )
    assert run.executor.cells == []


KINDS: dict[str, type[Goal]] = {  # type: ignore[valid-type]
    "pick": Pick,
    "place_in": Place,
    "place_on": Place,
    "stack_two": Place,
    "stack_three": Place,
    "sort": Sort,
    "swap": Swap,
    "push": Push,
    "open_drawer": Open,
    "press_button": Press,
}


def test_every_wording_that_the_tabletop_scene_uses_while_building_is_understood():
    tasks = yaml.safe_load((paths.share() / "urdf" / "scenes" / "tabletop" / "tasks.yaml").read_text())[
        "tasks"
    ]
    assert set(tasks) == set(KINDS)
    for name, task in tasks.items():
        for wording in task["wordings"]:
            goals = understand(wording.format(a="red", b="blue", c="green", kind="cylinder"))
            assert goals is not None, wording
            assert {type(goal) for goal in goals} == {KINDS[name]}, wording
            assert len(goals) == (2 if name == "stack_three" else 1), wording


def test_a_noun_phrase_keeps_its_relation_and_nothing_else():
    assert noun_phrase("the small red cube which is next to the bowl") == "small red cube next to the bowl"
    assert noun_phrase("the cube in the corner") is None
    assert noun_phrase("the cube without a bowl") is None
    assert (head("red cube left of the bowl"), color("red cube left of the blue bowl")) == ("red cube", "red")
