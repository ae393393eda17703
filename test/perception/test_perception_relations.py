from __future__ import annotations

import numpy as np
import pytest

from pyrua_ros.perception import relations, words
from pyrua_ros.perception.color_shape import ColorShapeSegmenter
from pyrua_ros.perception.shapes import Shape
from pyrua_ros.robot_model import profile

SEGMENTER = ColorShapeSegmenter(profile.load("fr3").table)


def shape(x, y, size=(0.04, 0.04, 0.04), top_z=0.04):
    return Shape(np.array([x, y, top_z - size[2] / 2]), top_z, np.array(size), 0.0, {})


NEAR, LEFT, FAR = (
    shape(0.4, 0.0),
    shape(0.5, 0.2, (0.03, 0.03, 0.06), 0.06),
    shape(0.65, -0.1, (0.07, 0.03, 0.03), 0.03),
)


@pytest.mark.parametrize(
    ("pick", "expected"),
    [
        ("leftmost", LEFT),
        ("rightmost", FAR),
        ("nearest", NEAR),
        ("farthest", FAR),
        ("biggest", NEAR),
        ("smallest", LEFT),
        ("tallest", LEFT),
        ("flattest", FAR),
    ],
)
def test_a_pick_is_as_the_robot_sees_it(pick, expected):
    assert pick in words.PICKS
    found = [NEAR, LEFT, FAR]
    assert found[relations.picked(pick, found)[0]] is expected


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("left of", [1]),
        ("right of", [2]),
        ("behind", [1, 2]),
        ("in front of", []),
        ("nearest to", [1, 2]),
        ("on", []),
        ("in", []),
    ],
)
def test_a_relation_is_to_the_other_thing_and_nearest_first(relation, expected):
    assert relation in words.RELATIONS
    found = [NEAR, LEFT, FAR]
    assert relations.related(relation, found, NEAR, [True, False, False]) == expected


def test_what_lies_on_a_plate_is_higher_and_within_it():
    plate = shape(0.5, 0.0, (0.17, 0.17, 0.014), 0.014)
    found = [shape(0.53, 0.02, top_z=0.046), shape(0.62, 0.02)]
    assert relations.related("on", found, plate, [False, False]) == [0]


def test_the_plate_is_found_and_is_no_bowl(table):
    studio = table("place_on")
    for seed in range(4):
        studio.pose(seed)
        view = studio.view("front")
        seen = SEGMENTER.segment(view, prompt="the plate")
        assert seen.found, seen
        assert seen.score > 0.6
        truth = studio.world.body_pose("scene/plate")[0]
        np.testing.assert_allclose(seen.world_xyz[:2], truth[:2], atol=0.005)
        np.testing.assert_allclose(seen.size[:2], 0.17, atol=0.01)
        assert not SEGMENTER.segment(view, prompt="bowl").found


def zone_color(studio):
    """Colour of the zone in this task, as drawn."""
    model = studio.world.model
    (name,) = [name for name in (model.body(i).name for i in range(model.nbody)) if name.endswith("_zone")]
    return name, name.removeprefix("scene/").removesuffix("_zone")


def test_a_painted_zone_is_found_by_its_colour_and_is_flat(table):
    studio = table("push")
    name, color = zone_color(studio)
    for seed in range(4):
        studio.pose(seed)
        view = studio.view("front")
        seen = SEGMENTER.segment(view, prompt=f"{color} zone")
        assert seen.found, seen
        np.testing.assert_allclose(seen.world_xyz[:2], studio.world.body_pose(name)[0][:2], atol=0.005)
        np.testing.assert_allclose(seen.size, [0.16, 0.14, 0.0], atol=0.006)
        assert seen.top_z == pytest.approx(0.0, abs=0.002)
        assert seen.grasp_width is None
        assert not SEGMENTER.segment(view, prompt="pink mat").found


def test_a_thing_is_chosen_by_where_it_is_to_another(studio):
    for seed in range(4):
        studio.pose(seed)
        view = studio.view("front")
        red, blue = (studio.world.body_pose(f"{color}_cube")[0] for color in ("red", "blue"))
        side = "left of" if red[1] > blue[1] else "right of"
        wrong = "right of" if red[1] > blue[1] else "left of"
        if abs(red[1] - blue[1]) < 0.03:
            continue
        seen = SEGMENTER.segment(view, prompt=f"the red cube {side} the blue cube")
        if not seen.found:
            assert "no red cube in" in seen.reason or "no blue cube in" in seen.reason
            continue
        np.testing.assert_allclose(seen.world_xyz[:2], red[:2], atol=0.02)
        refused = SEGMENTER.segment(view, prompt=f"the red cube {wrong} the blue cube")
        assert not refused.found
        assert f"none {wrong} the blue cube" in refused.reason


def test_a_relation_to_what_is_not_there_says_so(studio):
    studio.pose(2)
    seen = SEGMENTER.segment(studio.view("front"), prompt="the red cube left of the yellow ball")
    assert not seen.found
    assert "no yellow ball in 'front', so no red cube left of it" in seen.reason
