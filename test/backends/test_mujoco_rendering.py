"""Pictures: objects appear where the calibration says, depth is metric, colours are true."""

from __future__ import annotations

import numpy as np
import pytest
from builtin_interfaces.msg import Time

from pyrua_ros.backends.mujoco.camera_publisher import image_message, info_message
from pyrua_ros.backends.mujoco.rendering import CameraRenderer, RenderError
from pyrua_ros.robot_model import profile
from pyrua_ros.robot_model.rotations import pose_matrix
from pyrua_ros.wire import config

FR3 = profile.load("fr3")
CAMERAS = {camera.name: camera for camera in config.cameras().cameras}


@pytest.fixture(scope="module")
def renderer(compiled):
    try:
        renderer = CameraRenderer(compiled.model, tuple(CAMERAS.values()))
    except RenderError as error:
        pytest.skip(str(error))
    yield renderer
    renderer.close()


def camera_pose(driver, name):
    """Optical frame in the base frame, as everything outside the simulator computes it: FK times extrinsic."""
    camera = CAMERAS[name]
    link = driver.kinematics.link_pose(driver.world.robot_state().position[:7], camera.link)
    return link @ pose_matrix(camera.xyz, camera.quat)


def project(driver, name, point):
    k = np.array(info_message(CAMERAS[name], Time(), "").k).reshape(3, 3)
    local = np.linalg.inv(camera_pose(driver, name)) @ [*point, 1.0]
    column, row, _ = k @ local[:3] / local[2]
    return row, column, local[2]


def is_colour(rgb, name):
    pixels = rgb.astype(int)
    strongest = {"red_cube": 0, "green_cylinder": 1, "blue_cube": 2}[name]
    others = np.delete(pixels, strongest, axis=2).max(axis=2)
    return pixels[:, :, strongest] > 2 * others + 20


@pytest.mark.parametrize("camera", ["front", "wrist"])
@pytest.mark.parametrize("name", ["red_cube", "green_cylinder", "blue_cube"])
def test_an_object_is_where_kinematics_and_extrinsics_project_it(driver, renderer, camera, name):
    centre = driver.world.body_pose(name)[0]
    if camera == "wrist":
        driver.reach(centre + [-0.03, 0.0, 0.2])
    picture = renderer.render(camera, driver.world.data.qpos)
    row, column, depth = project(driver, camera, centre)
    mask = is_colour(picture.rgb, name)
    rows, columns = np.nonzero(mask)
    size = np.hypot(np.ptp(rows), np.ptp(columns))
    assert mask[round(row), round(column)]
    assert np.hypot(rows.mean() - row, columns.mean() - column) < 0.2 * size
    assert 0 < depth - picture.depth[round(row), round(column)] < 0.045


def test_depth_of_the_table_is_the_distance_along_the_optical_axis(driver, renderer):
    picture = renderer.render("front", driver.world.data.qpos)
    for point in ([0.2, 0.45, 0.0], [0.65, -0.3, 0.0], [0.1, -0.2, 0.0]):
        row, column, depth = project(driver, "front", point)
        assert picture.depth[round(row), round(column)] == pytest.approx(depth, abs=3e-3)


def test_depth_is_nan_beyond_the_cameras_range(driver, renderer):
    depth = renderer.render("front", driver.world.data.qpos).depth
    assert depth.dtype == np.float32
    assert 0 < np.isnan(depth).mean() < 0.3
    assert CAMERAS["front"].min_depth_m <= np.nanmin(depth)
    assert np.nanmax(depth) <= CAMERAS["front"].max_depth_m


def test_the_wrist_camera_sees_the_fingertips_near_its_lower_edge_beyond_its_minimum(driver, renderer):
    tip = np.linalg.inv(camera_pose(driver, "wrist")) @ [*driver.kinematics.fk(FR3.arm.home)[0], 1.0]
    assert np.linalg.norm(tip[:3]) > CAMERAS["wrist"].min_depth_m
    row, column, _ = project(driver, "wrist", driver.kinematics.fk(FR3.arm.home)[0])
    assert CAMERAS["wrist"].height * 0.75 < row < CAMERAS["wrist"].height
    assert column == pytest.approx((CAMERAS["wrist"].width - 1) / 2, abs=2)


def test_the_front_camera_sees_all_of_the_region_where_objects_stand(driver):
    region = driver.world.scene.region
    for x in (region.lower[0], region.upper[0]):
        for y in (region.lower[1], region.upper[1]):
            for z in (0.0, 0.3):
                row, column, _ = project(driver, "front", [x, y, z])
                assert 0 <= row < CAMERAS["front"].height
                assert 0 <= column < CAMERAS["front"].width


def test_cameras_have_unit_quaternions():
    for camera in CAMERAS.values():
        assert np.linalg.norm(camera.quat) == pytest.approx(1.0, abs=1e-7)


def test_messages_carry_the_pixels_unchanged():
    rgb = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    message = image_message(rgb, "rgb8", Time(sec=3), "front_color_optical_frame")
    assert (message.height, message.width, message.step, message.encoding) == (2, 3, 9, "rgb8")
    assert bytes(message.data) == rgb.tobytes()
    depth = np.array([[1.5, np.nan]], dtype=np.float32)
    message = image_message(depth, "32FC1", Time(sec=3), "front_color_optical_frame")
    assert message.step == 8
    np.testing.assert_array_equal(np.frombuffer(message.data, np.float32), depth[0])
