"""Publishes the cameras' images from a render thread, each only while somebody subscribes to it."""

from __future__ import annotations

import array
import threading
import time
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Image

from pyrua_ros.backends.mujoco.rendering import CameraRenderer, RenderError
from pyrua_ros.backends.mujoco.simulation import Simulation
from pyrua_ros.wire import names
from pyrua_ros.wire.config import Camera

_POLL_S, _SHORTEST_S = 0.02, 0.001
_REPEAT_S = 0.05
# Reliable, so that both kinds of subscribers match; the newest frame replaces an unsent one.
_IMAGES = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST)


class _Stream:
    """One camera's publishers and when its next frame is due."""

    def __init__(self, node: Node, camera: Camera) -> None:
        self.camera = camera
        self.color = node.create_publisher(Image, names.color(camera.name), _IMAGES)
        self.depth = node.create_publisher(Image, names.depth(camera.name), _IMAGES)
        self.info = node.create_publisher(CameraInfo, names.color_info(camera.name), _IMAGES)
        self.due = float("inf")
        self._subscribers = 0
        self._repeat = False

    def update(self, now: float) -> None:
        """Notice who came and went: a newcomer gets a frame at once, without subscribers none is due."""
        present = sum(p.get_subscription_count() for p in (self.color, self.depth, self.info))
        if present == 0:
            self.due = float("inf")
        elif present > self._subscribers:
            self.due = now
            self._repeat = True
        self._subscribers = present

    def advance(self, now: float) -> None:
        """One period after the frame that was due, or after `now` when that is past."""
        period = 1.0 / self.camera.rate_hz
        if self._repeat:
            # The newcomer's side may still have been connecting; do not let it wait for a whole period.
            self._repeat = False
            period = min(period, _REPEAT_S)
        self.due += period
        if self.due <= now:
            self.due = now + period


class CameraPublisher:
    """Owns the render thread. `error` says why there are no images, when there are none."""

    def __init__(self, node: Node, simulation: Simulation, cameras: Sequence[Camera]) -> None:
        self._node = node
        self._simulation = simulation
        self._streams = [_Stream(node, camera) for camera in cameras]
        self._stop = threading.Event()
        self._ready = threading.Event()
        self.error: str | None = None
        self.frames = 0
        self.render_s = 0.0
        self._thread = threading.Thread(target=self._run, name="render", daemon=True)

    def start(self) -> bool:
        """Begin to render; False when this machine cannot (see `error`)."""
        self._thread.start()
        self._ready.wait(timeout=30.0)
        return self.error is None

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)

    def _run(self) -> None:
        try:
            renderer = CameraRenderer(self._simulation.world.model, [s.camera for s in self._streams])
        except RenderError as error:
            self.error = str(error)
            return
        finally:
            self._ready.set()
        try:
            while not self._stop.is_set():
                self._serve(renderer)
        except Exception as error:  # noqa: BLE001 - said once, the robot goes on without images
            if not self._stop.is_set():
                self._node.get_logger().error(f"the cameras have ended: {type(error).__name__}: {error}")
        finally:
            self._simulation.wait_for(float("inf"))
            renderer.close()

    def _serve(self, renderer: CameraRenderer) -> None:
        now = self._simulation.world.time
        for stream in self._streams:
            stream.update(now)
        due = [stream for stream in self._streams if stream.due <= now]
        self._simulation.wait_for(
            min((self._latest(stream) for stream in self._streams), default=float("inf"))
        )
        if not due:
            self._stop.wait(self._pause(now))
        for stream in due:
            self._publish(stream, renderer)
            stream.advance(self._simulation.world.time)

    def _pause(self, now: float) -> float:
        """Wall seconds until the next frame may be due, or somebody may have come."""
        if not self._simulation.paced:
            return _SHORTEST_S
        next_due = min((stream.due for stream in self._streams), default=float("inf"))
        return float(np.clip((next_due - now) / self._simulation.rtf, _SHORTEST_S, _POLL_S))

    def _latest(self, stream: _Stream) -> float:
        """Say which simulation time may not pass before the next frame is out: a slow machine gets slow time."""
        return stream.due + (1.0 / stream.camera.rate_hz if self._simulation.paced else 0.0)

    def _publish(self, stream: _Stream, renderer: CameraRenderer) -> None:
        snapshot = self._simulation.snapshot()
        stamp = Time(sec=snapshot.stamp // 10**9, nanosec=snapshot.stamp % 10**9)
        frame_id = f"{stream.camera.name}_color_optical_frame"
        wants_color = stream.color.get_subscription_count() > 0
        wants_depth = stream.depth.get_subscription_count() > 0
        if wants_color or wants_depth:
            started = time.monotonic()
            picture = renderer.render(stream.camera.name, snapshot.qpos)
            self.render_s += time.monotonic() - started
            self.frames += 1
            if wants_color:
                stream.color.publish(image_message(picture.rgb, "rgb8", stamp, frame_id))
            if wants_depth:
                stream.depth.publish(image_message(picture.depth, "32FC1", stamp, frame_id))
        if stream.info.get_subscription_count() > 0:
            stream.info.publish(info_message(stream.camera, stamp, frame_id))


def image_message(
    pixels: NDArray[np.uint8] | NDArray[np.float32], encoding: str, stamp: Time, frame_id: str
) -> Image:
    """`pixels` ``[height, width, …]`` as a message."""
    message = Image(height=pixels.shape[0], width=pixels.shape[1], encoding=encoding)
    message.header.stamp = stamp
    message.header.frame_id = frame_id
    message.step = pixels.strides[0]
    data = array.array("B")
    data.frombytes(np.ascontiguousarray(pixels).view(np.uint8).data.cast("B"))
    message.data = data
    return message


def info_message(camera: Camera, stamp: Time, frame_id: str) -> CameraInfo:
    """Intrinsics of an ideal camera; pixel (0, 0) has its centre at image coordinates (0, 0)."""
    focal = camera.height / 2 / np.tan(np.radians(camera.fovy_deg) / 2)
    cx, cy = (camera.width - 1) / 2, (camera.height - 1) / 2
    message = CameraInfo(height=camera.height, width=camera.width, distortion_model="plumb_bob")
    message.header.stamp = stamp
    message.header.frame_id = frame_id
    message.d = [0.0] * 5
    message.k = [focal, 0.0, cx, 0.0, focal, cy, 0.0, 0.0, 1.0]
    message.r = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    message.p = [focal, 0.0, cx, 0.0, 0.0, focal, cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    return message
