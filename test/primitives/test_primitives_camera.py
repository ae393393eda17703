from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from pyrua_ros.errors import NoFrameError, RobotError, StaleFrameError
from pyrua_ros.perception import geometry
from pyrua_ros.primitives.camera import stamp_of
from pyrua_ros.wire import images, names

HEIGHT, WIDTH = 48, 64


@pytest.fixture
def scene():
    rgb = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    rgb[10, 20] = (255, 0, 0)
    return rgb, np.full((HEIGHT, WIDTH), 0.5, np.float32)


class Film:
    """Publishes frames from a thread until told to stop."""

    def __init__(self, peer, frame, camera="front", period_s=0.05, stamp=time.time, encoding="rgb8"):
        self._stop = threading.Event()

        def run() -> None:
            while not self._stop.is_set():
                peer.publish_frame(camera, *frame, stamp(), encoding)
                self._stop.wait(period_s)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._stop.set()
        self._thread.join(timeout=5)


@pytest.mark.parametrize("encoding", ["rgb8", "bgr8"])
def test_a_red_pixel_is_red_in_every_encoding(robo, peer, scene, encoding):
    rgb, depth = scene
    film = Film(peer, (rgb if encoding == "rgb8" else rgb[:, :, ::-1], depth), encoding=encoding)
    try:
        assert robo.image("front", timeout=10.0)[10, 20].tolist() == [255, 0, 0]
    finally:
        film.end()


def test_an_unknown_encoding_is_named(robo, peer, scene):
    film = Film(peer, scene, encoding="yuv422")
    try:
        with pytest.raises(RobotError, match="unknown colour encoding 'yuv422'"):
            robo.image("front", timeout=10.0)
    finally:
        film.end()


def test_a_camera_that_stopped_is_a_stale_frame_with_its_age(robo, peer, scene):
    film = Film(peer, scene)
    robo.image("front", timeout=10.0)
    film.end()
    time.sleep(3.0)
    with pytest.raises(
        StaleFrameError, match=r"no new frame from 'front' within 0.5 s: .* is [3-9]\.\d s old"
    ):
        robo.image("front", timeout=0.5)


def test_a_frame_from_before_the_end_of_the_last_motion_is_skipped(robo, peer, scene):
    rgb, depth = scene
    film = Film(peer, scene)
    robo.image("front", timeout=10.0)
    film.end()
    robo.open(0.05)
    ended = robo._guard.last_motion_end_ns
    peer.publish_frame("front", rgb, depth, ended * 1e-9 - 0.02)
    newer = rgb.copy()
    newer[10, 20] = (0, 0, 255)
    threading.Timer(0.3, peer.publish_frame, ("front", newer, depth, ended * 1e-9 + 0.01)).start()
    assert robo.image("front", timeout=10.0)[10, 20].tolist() == [0, 0, 255]


def test_a_slow_camera_works_with_a_long_timeout(robo, peer, scene):
    threading.Timer(5.0, lambda: film.append(Film(peer, scene, period_s=5.0))).start()
    film: list[Film] = []
    try:
        assert robo.image("front", timeout=30.0).shape == (HEIGHT, WIDTH, 3)
    finally:
        film[0].end()


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan"), True, "soon", None])
def test_a_timeout_that_is_no_time_is_refused(robo, timeout):
    with pytest.raises(ValueError, match="timeout"):
        robo.image("front", timeout=timeout)


def test_a_missing_publisher_is_named_with_what_may_have_been_meant(robo, peer, scene):
    rgb, _ = scene
    from sensor_msgs.msg import Image

    peer.image_publisher("wrist_camera/color/image_raw", Image).publish(images.encode_color(rgb))
    deadline = time.monotonic() + 20
    while True:
        with pytest.raises(NoFrameError) as caught:
            robo.image("wrist", timeout=0.3)
        if "did you mean" in str(caught.value) or time.monotonic() > deadline:
            break
    assert "topic /wrist/color/image_raw has 0 publishers" in str(caught.value)
    assert "(did you mean /wrist_camera/color/image_raw?)" in str(caught.value)


def test_an_unknown_camera_names_those_that_exist(robo):
    with pytest.raises(ValueError, match="unknown camera 'top'; there are: front, wrist"):
        robo.image("top")


def test_depth_that_is_nothing_is_no_point_and_never_the_origin(robo, peer, scene):
    rgb, depth = scene
    depth = depth.copy()
    depth[5, 5], depth[6, 6], depth[7, 7] = 0.0, np.nan, np.inf
    film = Film(peer, (rgb, depth))
    try:
        measured = robo.depth("front", timeout=10.0)
        assert measured[20, 20] == pytest.approx(0.5)
        assert np.isnan([measured[5, 5], measured[6, 6], measured[7, 7]]).all()
        world = robo.world_map("front", timeout=10.0)
        assert np.isnan(world[6, 6]).all()
        assert np.linalg.norm(world[20, 20]) > 0.2
    finally:
        film.end()


def test_a_world_map_puts_a_pixel_where_camera_and_depth_say(robo, peer, scene):
    film = Film(peer, scene)
    try:
        world = robo.world_map("front", timeout=10.0)
        pose = robo._camera.view("front", 10.0, True).camera_pose
        intrinsics = geometry.Intrinsics(*_pinhole(), WIDTH, HEIGHT)
        row, col = 31, 40
        in_camera = 0.5 * np.array(
            [(col - intrinsics.cx) / intrinsics.fx, (row - intrinsics.cy) / intrinsics.fy, 1.0]
        )
        np.testing.assert_allclose(world[row, col], (pose @ [*in_camera, 1.0])[:3], atol=1e-6)
    finally:
        film.end()


def _pinhole():
    k = images.camera_info(WIDTH, HEIGHT, 0.8).k
    return k[0], k[4], k[2], k[5]


def test_the_stamp_is_read_from_the_serialised_message(scene):
    from builtin_interfaces.msg import Time
    from rclpy.serialization import serialize_message

    message = images.encode_color(scene[0], Time(sec=12, nanosec=345))
    assert stamp_of(serialize_message(message)) == 12 * 10**9 + 345


def test_cameras_are_subscribed_on_first_use_and_kept(robo, peer, scene):
    topic = "/" + names.color("front")
    node = robo._guard._nodes[2]
    assert node.count_subscribers(topic) == 0
    film = Film(peer, scene)
    try:
        robo.image("front", timeout=10.0)
        assert node.count_subscribers(topic) == 1
        robo.image("front", timeout=10.0)
        assert node.count_subscribers(topic) == 1
    finally:
        film.end()
