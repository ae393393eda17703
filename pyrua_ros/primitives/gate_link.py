"""The primitives' side of the gate: its mode, the events of our goals, and hold."""

from __future__ import annotations

import time
import uuid

from diagnostic_msgs.msg import DiagnosticStatus
from pydantic import ValidationError
from rclpy.client import Client
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from pyrua_ros.errors import GateError, Preempted
from pyrua_ros.primitives.runtime import Runtime
from pyrua_ros.wire import names, qos
from pyrua_ros.wire.gate import GATE_SILENCE_S, GateEvent, GateState

#: How long a command waits for the gate to be there.
MATCH_S = 2.0
#: The same for a gate that was never heard: discovery repeats itself every 3 s.
FIRST_MATCH_S = 6.0
#: How long the gate may take to accept or refuse a goal.
ANSWER_S = 1.5


class GateLink:
    """Follows `gate/state` and `gate/events`; preempts the cell when somebody else has the robot."""

    def __init__(self, runtime: Runtime, node: Node) -> None:
        self._runtime = runtime
        self._node = node
        self._state: GateState | None = None
        self._heard_s = 0.0
        self._events: dict[str, list[GateEvent]] = {}
        node.create_subscription(DiagnosticStatus, names.GATE_STATE, self._on_state, qos.LATCHED)
        node.create_subscription(String, names.GATE_EVENTS, self._on_event, qos.EVENTS)
        self._hold: Client[Trigger.Request, Trigger.Response] = node.create_client(Trigger, names.GATE_HOLD)

    @staticmethod
    def publisher(node: Node, topic: str) -> Publisher[JointTrajectory]:
        """Make a command publisher of `node`; its liveliness is our heartbeat."""
        return node.create_publisher(JointTrajectory, topic, qos.COMMAND_OFFERED)

    def _on_state(self, message: DiagnosticStatus) -> None:
        try:
            state = GateState.from_message(message)
        except ValidationError as error:
            self._node.get_logger().error(f"unreadable gate/state: {error}")
            return
        with self._runtime.changed:
            self._state, self._heard_s = state, time.monotonic()
            if state.mode != "agent":
                self._runtime.preempt(describe(state))
            self._runtime.changed.notify_all()

    def _on_event(self, message: String) -> None:
        try:
            event = GateEvent.model_validate_json(message.data)
        except ValidationError as error:
            self._node.get_logger().error(f"unreadable gate/events: {error}")
            return
        with self._runtime.changed:
            if event.goal in self._events:
                self._events[event.goal].append(event)
                self._runtime.changed.notify_all()

    @property
    def mode(self) -> str:
        """The gate's mode; "unknown" when it has been silent."""
        if self._state is None or time.monotonic() - self._heard_s > GATE_SILENCE_S:
            return "unknown"
        return self._state.mode

    def require_agent(self) -> None:
        """Raise unless the gate is there and the robot is ours."""
        mode = self.mode
        if mode == "unknown":
            mode = (
                self._runtime.wait(
                    lambda: None if self.mode == "unknown" else self.mode,
                    FIRST_MATCH_S if self._state is None else MATCH_S,
                )
                or "unknown"
            )
        if mode == "unknown":
            since = (
                "never spoke"
                if self._state is None
                else f"silent for {time.monotonic() - self._heard_s:.1f} s"
            )
            raise GateError(f"nothing may move: the gate's state is unknown ({since} on {names.GATE_STATE})")
        if mode != "agent":
            self.raise_taken()

    def raise_taken(self) -> None:
        """Raise `Preempted` with the gate's reason; every later primitive of the cell gets it again."""
        assert self._state is not None
        self._runtime.preempt(describe(self._state))
        raise Preempted(describe(self._state))

    @property
    def taken(self) -> bool:
        """Whether an operator has the robot, or it is stopped."""
        return self.mode in ("operator", "stopped")

    def send(self, publisher: Publisher[JointTrajectory], message: JointTrajectory) -> str:
        """Publish a command once the gate is matched; returns its goal ID."""
        if not self._runtime.wait(lambda: publisher.get_subscription_count() > 0, MATCH_S):
            raise GateError(
                f"nothing may move: no gate subscribes to {publisher.topic_name} (waited {MATCH_S:g} s); is it running?"
            )
        goal = uuid.uuid4().hex[:12]
        message.header.frame_id = goal
        with self._runtime.changed:
            self._events[goal] = []
        publisher.publish(message)
        return goal

    def forget(self, goal: str) -> None:
        """Stop collecting events of a goal."""
        with self._runtime.changed:
            self._events.pop(goal, None)

    def events(self, goal: str) -> list[GateEvent]:
        """Events of a goal so far."""
        return self._events.get(goal, [])

    def ended(self, goal: str) -> GateEvent | None:
        """Return the event that ended a goal."""
        return next((event for event in self.events(goal) if event.terminal), None)

    def request_hold(self) -> bool:
        """Ask the gate to brake, without waiting for its answer; False when nobody serves the request."""
        if not self._hold.service_is_ready():
            return False
        self._hold.call_async(Trigger.Request())
        return True

    def hold(self, timeout_s: float = 1.0) -> str:
        """Ask the gate to brake and wait for its answer; empty when it does, else what is wrong."""
        if not self._runtime.wait(self._hold.service_is_ready, timeout_s, preemptible=False):
            return f"nobody serves {names.GATE_HOLD}"
        future = self._hold.call_async(Trigger.Request())
        if not self._runtime.wait(future.done, timeout_s, preemptible=False):
            return f"{names.GATE_HOLD} did not answer within {timeout_s:g} s"
        answer = future.result()
        assert answer is not None
        return "" if answer.success else f"{names.GATE_HOLD}: {answer.message}"


def describe(state: GateState) -> str:
    """Who has the robot, in words."""
    if state.mode == "operator":
        text = f"{state.who or 'an operator'} has taken over the arm"
    else:
        text = f"the robot is stopped{' by ' + state.who if state.who else ''}"
    return f"{text}: {state.why}" if state.why else text
