"""The node `camera`: RGB-D frames that are newer than the last motion, decoded only when asked for."""

from __future__ import annotations

import difflib
import struct
import time
from collections import deque
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from pyrua_ros.errors import NoFrameError, RobotError, StaleFrameError
from pyrua_ros.perception.geometry import Intrinsics
from pyrua_ros.perception.segmenter import View
from pyrua_ros.primitives.body import Body
from pyrua_ros.primitives.joints import Joints
from pyrua_ros.primitives.runtime import Runtime
from pyrua_ros.robot_model.rotations import pose_matrix
from pyrua_ros.wire import images, names, qos
from pyrua_ros.wire.config import Camera, Cameras

#: Colour and depth of one exposure may differ by this much in their stamps.
PAIR_NS = 5_000_000
#: Without a motion in between, a frame may be this much older than the request, beside 1.5 periods.
LATENCY_S = 0.1
_KEPT = 4


def stamp_of(raw: bytes) -> int:
    """Nanoseconds of `header.stamp`, read from a serialised message that begins with a header."""
    seconds, nanoseconds = struct.unpack_from("<iI" if raw[1] & 1 else ">iI", raw, 4)
    return int(seconds) * 10**9 + int(nanoseconds)


class _Stream:
    """The newest serialised messages of one topic."""

    def __init__(self, runtime: Runtime, node: Node, topic: str, message_type: type) -> None:
        self.message_type = message_type
        self.topic = node.resolve_topic_name(topic)
        self._runtime = runtime
        self._node = node
        self._frames: deque[tuple[int, bytes]] = deque(maxlen=_KEPT)
        self._arrived_s = 0.0
        self._subscription = node.create_subscription(
            message_type, topic, self._on_message, qos.SENSOR, raw=True
        )

    def _on_message(self, raw: bytes) -> None:
        with self._runtime.changed:
            self._frames.append((stamp_of(raw), raw))
            self._arrived_s = time.monotonic()
            self._runtime.changed.notify_all()

    def stamps(self) -> list[int]:
        """Stamps at hand, oldest first."""
        return [stamp for stamp, _ in list(self._frames)]

    def message(self, stamp_ns: int) -> Any:
        """Return the message with this stamp, deserialised."""
        raw = next(raw for stamp, raw in list(self._frames) if stamp == stamp_ns)
        return deserialize_message(raw, self.message_type)

    @property
    def silent_s(self) -> float | None:
        """Steady seconds since the last message; None before the first."""
        return time.monotonic() - self._arrived_s if self._arrived_s else None

    @property
    def publishers(self) -> int:
        """How many publish this topic."""
        return self._node.count_publishers(self.topic)


class _Device:
    """Streams of one camera, each subscribed when it is first needed and kept."""

    def __init__(self, runtime: Runtime, node: Node, config: Camera) -> None:
        self.config = config
        self._runtime = runtime
        self._node = node
        self._color: _Stream | None = None
        self._depth: _Stream | None = None
        self._info: CameraInfo | None = None
        node.create_subscription(CameraInfo, names.color_info(config.name), self._on_info, qos.SENSOR)

    def _on_info(self, message: CameraInfo) -> None:
        with self._runtime.changed:
            self._info = message
            self._runtime.changed.notify_all()

    @property
    def intrinsics(self) -> Intrinsics | None:
        """From camera_info, once it came."""
        if self._info is None:
            return None
        k = self._info.k
        return Intrinsics(k[0], k[4], k[2], k[5], self._info.width, self._info.height)

    def color(self) -> _Stream:
        """Return the colour stream; the compressed one when only that is published."""
        topic = names.color(self.config.name)
        if self._color is None or not (self._color.publishers or self._color.stamps()):
            compressed = self._node.count_publishers(f"{topic}/compressed") > 0
            wanted = CompressedImage if compressed and not self._node.count_publishers(topic) else Image
            if self._color is None or self._color.message_type is not wanted:
                suffix = "/compressed" if wanted is CompressedImage else ""
                self._color = _Stream(self._runtime, self._node, topic + suffix, wanted)
        return self._color

    def depth(self) -> _Stream:
        """Return the depth stream."""
        if self._depth is None:
            self._depth = _Stream(self._runtime, self._node, names.depth(self.config.name), Image)
        return self._depth


class CameraNode:
    """Implements `robo.CameraPort`."""

    def __init__(self, runtime: Runtime, node: Node, joints: Joints, body: Body, cameras: Cameras) -> None:
        self._runtime = runtime
        self._node = node
        self._joints = joints
        self._body = body
        self._cameras = cameras
        self._devices: dict[str, _Device] = {}

    def view(self, camera: str, timeout: float, depth: bool) -> View:
        """Return a frame from after the last motion; raises NoFrameError or StaleFrameError."""
        config = self._cameras.named(camera)
        with self._runtime.changed:
            if camera not in self._devices:
                self._devices[camera] = _Device(self._runtime, self._node, config)
        device = self._devices[camera]
        oldest_ns = self._oldest_ns(config)

        def newest_pair() -> tuple[int, int] | None:
            stamps = [stamp for stamp in device.color().stamps() if stamp > oldest_ns]
            if not stamps or device.intrinsics is None:
                return None
            if not depth:
                return stamps[-1], 0
            depths = device.depth().stamps()
            for stamp in reversed(stamps):
                twin = min(depths, key=lambda other: abs(other - stamp), default=None)
                if twin is not None and abs(twin - stamp) <= PAIR_NS:
                    return stamp, twin
            return None

        device.color()
        if depth:
            device.depth()
        pair = self._runtime.wait(newest_pair, timeout)
        if pair is None:
            raise self._explain(device, timeout, depth, oldest_ns)
        return self._assemble(device, *pair, depth=depth)

    def _oldest_ns(self, config: Camera) -> int:
        allowed_s = 1.5 / config.rate_hz + LATENCY_S
        return max(self._runtime.last_motion_end_ns, self._runtime.now_ns() - int(allowed_s * 1e9))

    def _assemble(self, device: _Device, color_ns: int, depth_ns: int, *, depth: bool) -> View:
        intrinsics = device.intrinsics
        assert intrinsics is not None
        message = device.color().message(color_ns)
        decode = images.decode_compressed if isinstance(message, CompressedImage) else images.decode_color
        try:
            rgb = decode(message)
            depth_m = (
                images.decode_depth(device.depth().message(depth_ns))
                if depth
                else np.full(rgb.shape[:2], np.nan, np.float32)
            )
        except images.ImageFormatError as error:
            raise RobotError(f"camera '{device.config.name}': {error}") from None
        if depth_m.shape != rgb.shape[:2]:
            raise RobotError(
                f"camera '{device.config.name}': depth is {depth_m.shape[1]}x{depth_m.shape[0]} and colour "
                f"{rgb.shape[1]}x{rgb.shape[0]}; depth must be aligned to colour"
            )
        limits = device.config
        with np.errstate(invalid="ignore"):
            depth_m[(depth_m < limits.min_depth_m) | (depth_m > limits.max_depth_m)] = np.nan
        q, fingers = self._joints.arm.at(color_ns), self._joints.fingers.at(color_ns)
        if q is None or fingers is None:
            q, fingers = self._joints.require(self._joints.arm), self._joints.require(self._joints.fingers)
        extrinsic = pose_matrix(limits.xyz, limits.quat)
        pose = self._body.link_pose(q, limits.link) @ extrinsic
        return View(rgb, depth_m, intrinsics, pose, limits.name, self._body.solids(q, fingers))

    def _explain(self, device: _Device, timeout: float, depth: bool, oldest_ns: int) -> RobotError:
        name = device.config.name
        streams = [device.color()] + ([device.depth()] if depth else [])
        for stream in streams:
            if stream.publishers == 0 and not stream.stamps():
                return NoFrameError(
                    f"no frame from '{name}' within {timeout:.1f} s: topic {stream.topic} has 0 publishers"
                    f"{self._did_you_mean(stream)}"
                )
        if device.intrinsics is None:
            topic = self._node.resolve_topic_name(names.color_info(name))
            return NoFrameError(f"no intrinsics of '{name}' within {timeout:.1f} s: nothing came on {topic}")
        for stream in streams:
            if not stream.stamps():
                return NoFrameError(
                    f"no frame from '{name}' within {timeout:.1f} s although {stream.topic} has "
                    f"{stream.publishers} publisher(s); is it slower than that, or is its QoS incompatible?"
                )
            newest, silent = stream.stamps()[-1], stream.silent_s or 0.0
            if newest <= oldest_ns:
                age = (self._runtime.now_ns() - newest) * 1e-9
                if silent < timeout / 2 and age > timeout + 1.0:
                    return StaleFrameError(
                        f"frames of '{name}' arrive, but are stamped {age:.1f} s in the past of this process's ROS time "
                        f"(use_sim_time is {self._runtime.use_sim_time}): camera and agent run on different clocks"
                    )
                since = (
                    " and older than the end of the last motion"
                    if newest <= self._runtime.last_motion_end_ns
                    else ""
                )
                return StaleFrameError(
                    f"no new frame from '{name}' within {timeout:.1f} s: the newest on {stream.topic} is "
                    f"{age:.1f} s old{since}"
                )
        return StaleFrameError(
            f"colour and depth of '{name}' never had the same stamp within {timeout:.1f} s"
        )

    def _did_you_mean(self, stream: _Stream) -> str:
        published = [
            topic
            for topic, types in self._node.get_topic_names_and_types()
            if set(types) & {"sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"}
            and topic != stream.topic
            and self._node.count_publishers(topic)
        ]
        close = difflib.get_close_matches(stream.topic, published, n=1, cutoff=0.6)
        if close:
            return f" (did you mean {close[0]}?)"
        return f" (image topics that are published: {', '.join(published[:6]) or 'none'})"
