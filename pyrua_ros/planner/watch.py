"""What the planner follows on the graph: the gate, the joints, one camera; passed on to the running record."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from pydantic import ValidationError
from rclpy.client import Client
from rclpy.node import Node
from rclpy.subscription import Subscription
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from pyrua_ros.planner.joint_log import JointLog
from pyrua_ros.planner.record import RunFolder
from pyrua_ros.planner.video import Video
from pyrua_ros.wire import names, qos
from pyrua_ros.wire.gate import GATE_SILENCE_S, GateEvent, GateState
from pyrua_ros.wire.images import ImageFormatError, decode_color

HOLD_TIMEOUT_S = 1.0


class Recording:
    """The open files of one episode's record."""

    def __init__(self, folder: RunFolder, joints: JointLog, video: Video | None) -> None:
        self.folder, self.joints, self.video = folder, joints, video
        self.lock = threading.Lock()
        self.closed = False

    def close(self) -> None:
        """Finish all files."""
        with self.lock:
            self.closed = True
            self.joints.close()
            if self.video is not None:
                self.video.close()


class Watch:
    """Subscriptions of the planner node. All callbacks run in the node's executor.

    Parameters
    ----------
    on_mode
        Called with each new gate state.
    """

    def __init__(self, node: Node, on_mode: Callable[[GateState], None]) -> None:
        self._node, self._on_mode = node, on_mode
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._hold: Client[Any, Any] = node.create_client(Trigger, names.GATE_HOLD)
        self._gate: GateState | None = None
        self._gate_heard_s = self._joints_heard_s = float("-inf")
        self._camera: Subscription[Image] | None = None
        self.recording: Recording | None = None
        node.create_subscription(DiagnosticStatus, names.GATE_STATE, self._on_gate_state, qos.LATCHED)
        node.create_subscription(String, names.GATE_EVENTS, self._on_gate_event, qos.EVENTS)
        node.create_subscription(JointState, names.JOINT_STATES, self._on_joints, qos.SENSOR)

    @property
    def gate(self) -> GateState | None:
        """The gate's state; None when it has been silent."""
        fresh = time.monotonic() - self._gate_heard_s <= GATE_SILENCE_S
        return self._gate if fresh else None

    @property
    def joints_alive(self) -> bool:
        """Whether the robot publishes its joints."""
        return time.monotonic() - self._joints_heard_s <= GATE_SILENCE_S

    def film(self, camera: str | None) -> None:
        """Follow `camera`, or none, from the next round of the spinning thread on."""
        self._jobs.put(lambda: self._follow(camera))

    def run_jobs(self) -> None:
        """Do what other threads asked for; call it from the thread that spins."""
        while not self._jobs.empty():
            self._jobs.get_nowait()()

    def hold(self) -> None:
        """Brake now, whatever moves; waits for the gate's answer, but not long. Not from the spinning thread."""
        if not self._hold.service_is_ready():
            return
        done = threading.Event()
        self._hold.call_async(Trigger.Request()).add_done_callback(lambda _: done.set())
        if not done.wait(HOLD_TIMEOUT_S):
            self._node.get_logger().error(f"{names.GATE_HOLD} did not answer within {HOLD_TIMEOUT_S:g} s")

    def _follow(self, camera: str | None) -> None:
        if self._camera is not None:
            self._node.destroy_subscription(self._camera)
            self._camera = None
        if camera is not None:
            self._camera = self._node.create_subscription(
                Image, names.color(camera), self._on_image, qos.SENSOR
            )

    def _on_gate_state(self, message: DiagnosticStatus) -> None:
        try:
            state = GateState.from_message(message)
        except ValidationError as error:
            self._node.get_logger().error(f"unreadable gate/state: {error}")
            return
        changed = state.mode != (self._gate.mode if self._gate is not None else "agent")
        self._gate, self._gate_heard_s = state, time.monotonic()
        if changed and self.recording is not None:
            self.recording.folder.event("gate_state", mode=state.mode, why=state.why, who=state.who)
        self._on_mode(state)

    def _on_gate_event(self, message: String) -> None:
        recording = self.recording
        if recording is None:
            return
        try:
            event = GateEvent.model_validate_json(message.data)
        except ValidationError as error:
            self._node.get_logger().error(f"unreadable gate/events: {error}")
            return
        facts = event.model_dump()
        recording.folder.event("gate", what=facts.pop("event"), **facts)

    def _on_joints(self, message: JointState) -> None:
        self._joints_heard_s = time.monotonic()
        recording = self.recording
        if recording is not None:
            with recording.lock:
                if not recording.closed:
                    positions = dict(zip(message.name, message.position, strict=False))
                    recording.joints.add(recording.folder.now(), positions)

    def _on_image(self, message: Image) -> None:
        recording = self.recording
        if recording is None or recording.video is None:
            return
        try:
            rgb = decode_color(message)
        except ImageFormatError as error:
            recording.video.problem = str(error)
            return
        with recording.lock:
            if not recording.closed:
                recording.video.add(recording.folder.now(), rgb)
