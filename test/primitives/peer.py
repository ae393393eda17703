"""The other side of the primitives: a small robot, its gate and its cameras, over real rclpy."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.wire import images, names, qos, trajectories
from pyrua_ros.wire.gate import GateEvent, GateState

PROFILE = profiles.load("fr3")
PERIOD_S = 0.01


class Peer:
    """Publishes joint states at 100 Hz and answers goals the way a test wants it.

    `behaviour` is one of: follow, ignore (accept, never move), refuse, preempt (accept, end early, keep
    moving until held), silent (no answer).
    """

    def __init__(self) -> None:
        self.q = np.array(PROFILE.arm.home)
        self.width = 0.08
        self.object_width = 0.0
        self.behaviour = "follow"
        self.mode = "agent"
        self.order: Callable[[list[str]], list[str]] = lambda joints: joints
        self.left_out: set[str] = set()
        self.publish_states = True
        self.stamp_offset_s = 0.0
        self.clock_s: float | None = None
        self.goals: list[str] = []
        self.holds = 0
        self._motion: tuple[trajectories.Trajectory, float, str] | None = None
        self._context = rclpy.Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = Node("gate", context=self._context, start_parameter_services=False)
        node = self._node
        self._states = node.create_publisher(JointState, names.JOINT_STATES, 1)
        self._gate_state = node.create_publisher(DiagnosticStatus, names.GATE_STATE, qos.LATCHED)
        self._events = node.create_publisher(String, names.GATE_EVENTS, qos.EVENTS)
        self._clock = node.create_publisher(Clock, "/clock", 1)
        node.create_subscription(JointTrajectory, names.AGENT_TRAJECTORY, self._on_arm, qos.COMMAND_REQUESTED)
        node.create_subscription(
            JointTrajectory, names.AGENT_GRIPPER, self._on_gripper, qos.COMMAND_REQUESTED
        )
        node.create_service(Trigger, names.GATE_HOLD, self._on_hold)
        self._image_publishers: dict[str, rclpy.publisher.Publisher] = {}
        self._stop = threading.Event()
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(timeout=5)
        self._executor.shutdown(timeout_sec=1)
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def now(self) -> float:
        return time.time() if self.clock_s is None else self.clock_s

    def _stamp(self, seconds: float) -> Time:
        return Time(sec=int(seconds), nanosec=int(seconds % 1 * 1e9))

    def _run(self) -> None:
        next_s, stated = time.monotonic(), 0.0
        while not self._stop.is_set():
            self._executor.spin_once(timeout_sec=max(0.0, next_s - time.monotonic()))
            if time.monotonic() < next_s:
                continue
            next_s += PERIOD_S
            self._move()
            if self.clock_s is not None:
                self._clock.publish(Clock(clock=self._stamp(self.clock_s)))
            if self.publish_states:
                self._publish_state()
            if time.monotonic() - stated > 0.1:
                stated = time.monotonic()
                self._gate_state.publish(GateState(mode=self.mode, why="test", boot_id="b").to_message())

    def _publish_state(self) -> None:
        positions = dict(zip(PROFILE.arm.joints, self.q, strict=True))
        positions |= dict.fromkeys(PROFILE.gripper.joints, self.width / 2)
        joints = [joint for joint in self.order(list(positions)) if joint not in self.left_out]
        message = JointState(name=joints, position=[float(positions[joint]) for joint in joints])
        message.header.stamp = self._stamp(self.now() + self.stamp_offset_s)
        self._states.publish(message)

    def _move(self) -> None:
        if self._motion is None:
            return
        trajectory, start, goal = self._motion
        elapsed = time.monotonic() - start
        self.q = trajectory.sample(elapsed).position
        if elapsed >= trajectory.duration:
            self._motion = None
            self.emit(goal, "done")

    def emit(self, goal: str, event: str, reason: str = "", device: str = "arm") -> None:
        text = GateEvent(goal=goal, event=event, reason=reason, device=device).model_dump_json()
        self._events.publish(String(data=text))

    def _on_arm(self, message: JointTrajectory) -> None:
        goal = message.header.frame_id
        self.goals.append(goal)
        if self.behaviour == "silent":
            return
        if self.behaviour == "refuse":
            self.emit(goal, "refused", "velocity of fr3_joint1 is 9 rad/s at 0.1 s")
            return
        self.emit(goal, "accepted")
        if self.behaviour == "ignore":
            return
        self._motion = (trajectories.from_message(message), time.monotonic(), goal)
        if self.behaviour == "preempt":
            self.emit(goal, "preempted", "replaced by g2")

    def _on_gripper(self, message: JointTrajectory) -> None:
        goal = message.header.frame_id
        width, force = trajectories.read_gripper(message)
        self.goals.append(goal)
        if self.behaviour == "refuse":
            self.emit(goal, "refused", "not now", "gripper")
            return
        self.emit(goal, "accepted", device="gripper")
        # As Franka's hand: a grasp closes until something stops it, a move goes to the width.
        self.width = max(width, self.object_width) if force is None else self.object_width
        # What a server of a hand says when it stops on an object: not a success.
        self.emit(goal, "done", device="gripper")

    def _on_hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.holds += 1
        self._motion = None
        response.success = True
        return response

    def publish_frame(
        self, camera: str, rgb: np.ndarray, depth: np.ndarray, stamp_s: float, encoding: str = "rgb8"
    ) -> None:
        """Publish colour, depth and intrinsics with one stamp."""
        stamp = self._stamp(stamp_s)
        color = images.encode_color(rgb, stamp)
        color.encoding = encoding
        info = images.camera_info(rgb.shape[1], rgb.shape[0], 0.8, stamp)
        for topic, kind, message in (
            (names.color_info(camera), CameraInfo, info),
            (names.color(camera), Image, color),
            (names.depth(camera), Image, images.encode_depth(depth, stamp)),
        ):
            self.image_publisher(topic, kind).publish(message)

    def image_publisher(self, topic: str, kind: type) -> rclpy.publisher.Publisher:
        if topic not in self._image_publishers:
            self._image_publishers[topic] = self._node.create_publisher(kind, topic, QoSProfile(depth=5))
        return self._image_publishers[topic]


def until(condition: Callable[[], object], timeout_s: float = 20.0) -> None:
    """Wait for a condition, with a deadline; fails the test with its source when it stays false."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, json.dumps({"waited in vain": timeout_s})
        time.sleep(0.01)
