from __future__ import annotations

import numpy as np
import pytest

from pyrua_ros.perception.color_shape import ColorShapeSegmenter
from pyrua_ros.perception.geometry import to_pixels
from pyrua_ros.perception.segmenter import View
from pyrua_ros.robot_model import profile

FR3 = profile.load("fr3")
SEGMENTER = ColorShapeSegmenter(FR3.table)
SEEDS = range(20)


def where(studio, name):
    return studio.world.body_pose(name)[0]


def errors(studio, look, camera, prompt, name, seeds=SEEDS):
    """Horizontal error of each seed, m; NaN where nothing was found."""
    found = []
    for seed in seeds:
        studio.pose(seed)
        truth = where(studio, name)
        view = look(camera, seed, truth if camera == "wrist" else None)
        seen = SEGMENTER.segment(view, prompt=prompt)
        whole = seen.found and "partly" not in seen.reason
        found.append(np.linalg.norm(seen.world_xyz[:2] - where(studio, name)[:2]) if whole else np.nan)
    return np.array(found)


def test_the_wrist_camera_finds_the_cube_within_5_mm(studio, look):
    assert np.max(errors(studio, look, "wrist", "the red cube", "red_cube")) < 0.005


def test_the_front_camera_finds_a_cube_that_it_sees_whole_within_8_mm(studio, look):
    found = errors(studio, look, "front", "red block", "red_cube")
    assert np.isfinite(found).sum() >= 16
    assert np.nanmax(found) < 0.008


def test_the_wrist_camera_finds_the_bowl_within_10_mm(studio, look):
    assert np.max(errors(studio, look, "wrist", "bowl", "bowl", range(10))) < 0.010


def test_a_cube_is_measured_in_the_round(studio, look):
    for seed in range(6):
        studio.pose(seed)
        seen = SEGMENTER.segment(look("wrist", seed, where(studio, "red_cube")), prompt="red cube")
        np.testing.assert_allclose(seen.size, [0.04, 0.04, 0.04], atol=0.004)
        assert seen.grasp_width == pytest.approx(0.04, abs=0.004)
        assert seen.top_z == pytest.approx(0.04, abs=0.002)
        assert seen.world_xyz[2] == pytest.approx(0.02, abs=0.002)
        assert seen.score > 0.8


def test_the_yaw_of_a_cube_is_that_of_its_sides(studio, look):
    for seed in range(6):
        studio.pose(seed)
        _, quat = studio.world.body_pose("red_cube")
        truth = 2 * np.arctan2(quat[2], quat[3])
        seen = SEGMENTER.segment(look("wrist", seed, where(studio, "red_cube")), prompt="red cube")
        off = (seen.yaw - truth + np.pi / 4) % (np.pi / 2) - np.pi / 4
        assert abs(off) < np.radians(4)


@pytest.mark.parametrize(
    ("prompt", "name"),
    [("the blue cube", "blue_cube"), ("green cylinder", "green_cylinder"), ("a green can", "green_cylinder")],
)
def test_words_choose_the_object(studio, look, prompt, name):
    studio.pose(3)
    seen = SEGMENTER.segment(look("wrist", 3, where(studio, name)), prompt=prompt)
    assert seen.found
    np.testing.assert_allclose(seen.world_xyz[:2], where(studio, name)[:2], atol=0.006)


@pytest.mark.parametrize("prompt", ["yellow cube", "purple ball", "black cylinder"])
def test_what_is_not_there_is_not_found_and_what_is_there_is_said(look, prompt):
    seen = SEGMENTER.segment(look("front", 2), prompt=prompt)
    assert not seen.found
    assert seen.world_xyz is None
    assert "red cube at (" in seen.reason


def test_words_that_name_nothing_are_answered_with_those_that_do(look):
    seen = SEGMENTER.segment(look("front", 2), prompt="the thingamajig")
    assert not seen.found
    assert "known are red" in seen.reason


def test_a_pixel_chooses_the_object_under_it(studio, look):
    view = look("front", 4)
    truth = where(studio, "blue_cube")
    row, col = np.round(to_pixels(truth + [0, 0, 0.02], view.camera_pose, view.intrinsics)).astype(int)
    seen = SEGMENTER.segment(view, point=(row, col))
    assert seen.found
    np.testing.assert_allclose(seen.world_xyz[:2], truth[:2], atol=0.01)


def test_a_pixel_on_the_table_is_no_object(look):
    view = look("front", 4)
    row, col = np.round(to_pixels(np.array([0.2, 0.5, 0.0]), view.camera_pose, view.intrinsics)).astype(int)
    seen = SEGMENTER.segment(view, point=(int(row), int(col)))
    assert not seen.found
    assert "table" in seen.reason


@pytest.mark.parametrize("nothing", [0.0, np.nan, np.inf])
def test_an_object_without_depth_is_not_found_and_never_at_the_origin(look, nothing):
    view = look("front", 5)
    depth = view.depth.copy()
    whole = SEGMENTER.segment(view, prompt="red cube")
    depth[whole.mask] = nothing if np.isnan(nothing) else np.nan
    blind = View(view.rgb, depth, view.intrinsics, view.camera_pose, view.camera, view.robot)
    seen = SEGMENTER.segment(blind, prompt="red cube")
    assert not seen.found
    assert seen.world_xyz is None


def test_the_robot_itself_is_no_object(studio, look):
    view = look("front", 1)
    seen = SEGMENTER.segment(view, prompt="white box")
    assert not (seen.found and seen.top_z > 0.1), seen


def test_a_box_in_the_image_holds_the_mask(look):
    seen = SEGMENTER.segment(look("front", 6), prompt="red cube")
    rows, cols = np.nonzero(seen.mask)
    assert seen.box == (rows.min(), cols.min(), rows.max() + 1, cols.max() + 1)
