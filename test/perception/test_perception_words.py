from __future__ import annotations

import pytest

from pyrua_ros.perception import words


@pytest.mark.parametrize(
    ("prompt", "color", "shape"),
    [
        ("the red cube", "red", "cube"),
        ("Red Block", "red", "box"),
        ("blue cylinder", "blue", "cylinder"),
        ("a green can", "green", "cylinder"),
        ("bowl", None, "bowl"),
        ("cubes", None, "cube"),
        ("something crimson", "red", None),
        ("the grey ball", "gray", "ball"),
    ],
)
def test_a_description_is_a_colour_and_a_shape(prompt, color, shape):
    parsed = words.parse(prompt)
    assert (parsed.color, parsed.shape) == (color, shape)


@pytest.mark.parametrize(
    ("prompt", "pick", "relation", "other"),
    [
        ("the cube on the left", "leftmost", None, None),
        ("the biggest object", "biggest", None, None),
        ("a small red cube", "smallest", None, None),
        ("the closest cube", "nearest", None, None),
        ("the cube to the left of the green can", None, "left of", "green cylinder"),
        ("the cube nearest to the bowl", None, "nearest to", "bowl"),
        ("red cube next to the blue ball", None, "nearest to", "blue ball"),
        ("the can on top of the plate", None, "on", "plate"),
        ("the object inside the white bowl", None, "in", "white bowl"),
        ("blue cube behind the red one", None, "behind", "red object"),
        ("the red cube on the table", None, None, None),
    ],
)
def test_a_description_says_which_of_several(prompt, pick, relation, other):
    parsed = words.parse(prompt)
    assert (parsed.pick, parsed.relation) == (pick, relation)
    assert (parsed.other and str(parsed.other)) == other
    assert parsed.ignored == ()


def test_what_a_description_relates_to_without_saying_what_is_reported():
    assert words.parse("red cube next to the thingamajig").ignored == ("next to the thingamajig",)
