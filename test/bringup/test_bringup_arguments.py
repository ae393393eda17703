"""Arguments: one definition, one-line errors."""

from __future__ import annotations

import pytest

from pyrua_ros import arguments
from pyrua_ros.arguments import UsageError, parse


def test_defaults_need_nothing() -> None:
    args = parse([])
    assert (args.backend, args.robot, args.scene, args.seed, args.rtf) == (
        "mujoco",
        "fr3",
        "cube_bowl",
        0,
        1.0,
    )
    assert args.max_calls is None


def test_values_are_read_by_their_type() -> None:
    args = parse(["seed:=7", "rtf:=0", "rviz:=true", "max_dollars:=0.5", "task:=put a:=b there"])
    assert (args.seed, args.rtf, args.rviz, args.max_dollars) == (7, 0.0, True, 0.5)
    assert args.task == "put a:=b there"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["seeed:=1"], "unknown argument 'seeed' (did you mean seed?); there are: backend, robot"),
        (
            ["scene:=cube_bowls"],
            "scene:=cube_bowls: unknown scene (did you mean cube_bowl?); there are: cube_bowl",
        ),
        (
            ["planner:=opnai"],
            "planner:=opnai: unknown planner (did you mean openai?); there are: auto, none, builtin",
        ),
        (["backend:=franka"], "backend:=franka: unknown backend; there are: mujoco"),
        (["robot:="], "robot:=: unknown robot; there are: fr3"),
        (["seed:=many"], "seed:=many: expected a whole number"),
        (["seed:=1.5"], "seed:=1.5: expected a whole number"),
        (["seed:=-1"], "seed:=-1: expected a whole number of at least 0"),
        (["rtf:=nan"], "rtf:=nan: expected a number from 0 to 100"),
        (["rtf:=inf"], "rtf:=inf: expected a number from 0 to 100"),
        (["domain:=102"], "domain:=102: expected a whole number from 0 to 101"),
        (["rviz:=yes"], "rviz:=yes: expected true or false"),
        (["seed:=1", "seed:=2"], "seed is given twice"),
        (["seed=1"], "expected NAME:=VALUE, got 'seed=1' (did you mean seed:=1 ?)"),
        (
            ["pick the cube"],
            "expected NAME:=VALUE, got 'pick the cube' (did you mean task:=\"pick the cube\" ?)",
        ),
        (["planner:=replay"], "planner:=replay needs replay:=RUN"),
        (["replay:=x"], "replay:=x is only read with planner:=replay"),
        (["task:=x", "planner:=none"], "task:=… needs a planner"),
    ],
)
def test_a_wrong_word_is_one_line_that_says_what_exists(words: list[str], expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(words)
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)


def test_every_argument_is_described_and_parses_its_own_default() -> None:
    for argument in arguments.arguments():
        assert len(argument.description) > 5
        text = "" if argument.default is None else str(argument.default)
        assert argument.parse(text) == argument.default
