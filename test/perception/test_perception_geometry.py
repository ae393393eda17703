from __future__ import annotations

import numpy as np
import pytest

from pyrua_ros.perception import geometry
from pyrua_ros.robot_model.rotations import pose_matrix, rpy_to_quat

K = geometry.Intrinsics.from_fovy(0.8, 64, 48)
POSE = pose_matrix([0.3, -0.2, 0.9], rpy_to_quat(2.8, 0.1, 0.4))


def test_projecting_and_back_projecting_return_to_the_same_pixel():
    depth = np.full((48, 64), 0.6, np.float32)
    point = geometry.back_project(depth, K, POSE, 13, 50)
    np.testing.assert_allclose(geometry.to_pixels(point, POSE, K), [13, 50], atol=1e-3)


def test_a_world_map_agrees_with_back_projection():
    depth = np.full((48, 64), 0.6, np.float32)
    world = geometry.to_base(geometry.points_in_camera(depth, K), POSE)
    np.testing.assert_allclose(world[13, 50], geometry.back_project(depth, K, POSE, 13, 50), atol=1e-5)


@pytest.mark.parametrize("col", [31, 32])
def test_at_an_edge_no_point_hangs_between_the_two_surfaces(col):
    depth = np.full((48, 64), 0.5, np.float32)
    depth[:, 32:] = 0.9
    assert geometry.surface_depth(depth, 20, col) == pytest.approx(0.5 if col < 32 else 0.9)


@pytest.mark.parametrize("nothing", [np.nan])
def test_a_pixel_without_depth_has_no_point(nothing):
    depth = np.full((48, 64), 0.5, np.float32)
    depth[10, 10] = nothing
    assert geometry.back_project(depth, K, POSE, 10, 10) is None
    assert np.isnan(geometry.points_in_camera(depth, K)[10, 10]).all()


def test_a_neighbour_without_depth_does_not_hide_the_surface():
    depth = np.full((48, 64), 0.5, np.float32)
    depth[9:12, 9:12] = np.nan
    depth[10, 10] = 0.5
    assert geometry.surface_depth(depth, 10, 10) == pytest.approx(0.5)


def test_a_point_behind_the_camera_has_no_pixel():
    behind = (POSE @ [0, 0, -1.0, 1.0])[:3]
    assert np.isnan(geometry.to_pixels(behind, POSE, K)).all()
