"""The episode on the graph: agent/status, agent/cell, agent/output and the frames that the model was sent."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node
from sensor_msgs.msg import CompressedImage
from std_msgs.msg import String

from pyrua_ros.planner.budget import Budget
from pyrua_ros.planner.conversation import FrameLike
from pyrua_ros.planner.models.base import Reply
from pyrua_ros.planner.observer import CellResult, Observer, Outcome
from pyrua_ros.wire import names, qos

_LEVELS = {
    "failed": DiagnosticStatus.ERROR,
    "error": DiagnosticStatus.ERROR,
    "stopped": DiagnosticStatus.ERROR,
}


class Topics(Observer):
    """Publishes what happens; safe from any thread."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._status = node.create_publisher(DiagnosticArray, names.AGENT_STATUS, qos.LATCHED)
        self._cell = node.create_publisher(String, names.AGENT_CELL, qos.EVENTS)
        self._output = node.create_publisher(String, names.AGENT_OUTPUT, qos.EVENTS)
        self._frames = node.create_publisher(CompressedImage, names.AGENT_FRAMES, qos.EVENTS)
        self._phase = "idle"
        self._values: dict[str, str] = {}
        self.set_phase("idle")

    def set_phase(self, phase: str, **values: object) -> None:
        """Publish a new phase; values that are not named keep what they were."""
        with self._lock:
            self._phase = phase
            self._values.update({key: str(value) for key, value in values.items()})
            self._publish()

    def refuse(self, reason: str) -> None:
        """Say why a task was not taken, beside the running one's status."""
        with self._lock:
            self._values["refused"] = reason
            self._publish()

    def _publish(self) -> None:
        status = DiagnosticStatus(
            level=_LEVELS.get(self._phase, DiagnosticStatus.OK),
            name="agent",
            message=self._phase,
            values=[KeyValue(key=key, value=value) for key, value in self._values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._status.publish(message)

    def _spent(self, budget: Budget) -> dict[str, object]:
        return {
            "llm_calls": budget.calls,
            "tokens": budget.usage.total,
            "dollars": "unknown" if budget.dollars is None else f"{budget.dollars:.6f}",
            "elapsed_s": f"{budget.elapsed_s:.1f}",
        }

    # Observer

    def started(self, task: str, model: str, instructions: str) -> None:  # noqa: D102
        with self._lock:
            self._values.clear()
        self.set_phase("starting", task=task, model=model)

    def asking(self, call: int) -> None:  # noqa: D102
        self.set_phase("thinking")

    def replied(self, reply: Reply, budget: Budget) -> None:  # noqa: D102
        self.set_phase("thinking", **self._spent(budget))

    def cell_started(self, number: int, code: str) -> None:  # noqa: D102
        self._cell.publish(String(data=code))
        self.set_phase("running", cell=number)

    def cell_done(  # noqa: D102
        self, number: int, result: CellResult, sent: Sequence[FrameLike], budget: Budget
    ) -> None:
        self._output.publish(String(data=result.text))
        for frame in sent:
            message = CompressedImage(format="jpeg")
            message.header.frame_id = frame.camera
            message.header.stamp = self._node.get_clock().now().to_msg()
            message.data = frame.jpeg
            self._frames.publish(message)
        self.set_phase("running", **self._spent(budget))

    def finished(self, outcome: Outcome, budget: Budget) -> None:  # noqa: D102
        self.set_phase(outcome.status, summary=outcome.summary, **self._spent(budget))
