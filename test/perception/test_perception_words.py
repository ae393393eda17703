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
