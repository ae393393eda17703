"""Layouts by seed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pyrua_ros.backends.mujoco import placement, scenes

CUBE_BOWL = scenes.load("cube_bowl")


def test_the_same_seed_gives_the_same_layout_and_another_seed_another():
    assert placement.draw(CUBE_BOWL, 5) == placement.draw(CUBE_BOWL, 5)
    assert placement.draw(CUBE_BOWL, 5) != placement.draw(CUBE_BOWL, 6)


def test_objects_keep_their_gap_and_stay_within_the_region_for_many_seeds():
    region, objects = CUBE_BOWL.region, CUBE_BOWL.objects
    for seed in range(200):
        places = placement.draw(CUBE_BOWL, seed)
        assert set(places) == set(objects)
        for name, place in places.items():
            radius = objects[name].radius
            for value, lower, upper in zip((place.x, place.y), region.lower, region.upper, strict=True):
                assert lower + radius <= value <= upper - radius
        for a, b in itertools.combinations(places, 2):
            distance = np.hypot(places[a].x - places[b].x, places[a].y - places[b].y)
            assert distance >= objects[a].radius + objects[b].radius + CUBE_BOWL.gap


def test_objects_that_cannot_fit_are_an_error_that_names_the_scene():
    tight = CUBE_BOWL.model_copy(update={"gap": 0.5})
    with pytest.raises(ValueError, match="scene 'cube_bowl' do not fit"):
        placement.draw(tight, 1)


def test_an_object_larger_than_its_region_is_named():
    narrow = scenes.Region(lower=(0.4, 0.0), upper=(0.45, 0.1))
    objects = {**CUBE_BOWL.objects, "bowl": CUBE_BOWL.objects["bowl"].model_copy(update={"region": narrow})}
    with pytest.raises(ValueError, match="'bowl'"):
        placement.draw(CUBE_BOWL.model_copy(update={"objects": objects}), 1)
