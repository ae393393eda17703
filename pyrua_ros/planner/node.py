"""The planner node: takes a task on agent/task or from its parameter, runs it, says how it goes on agent/status."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import FrameType

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String
from std_srvs.srv import Trigger

from pyrua_ros.planner.models.factory import check_planner
from pyrua_ros.planner.parameters import read_parameters
from pyrua_ros.planner.settings import planner_settings
from pyrua_ros.planner.task_run import TaskRun, describe_stop
from pyrua_ros.planner.topics import Topics
from pyrua_ros.planner.watch import Watch
from pyrua_ros.primitives.settings import Settings
from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.robot_model.profile import ConfigError
from pyrua_ros.wire import names, qos
from pyrua_ros.wire.gate import GateState
from pyrua_ros.wire.spinning import RoundExecutor

#: After a signal the episode may take this long to hold, stop the kernel and write its result.
ENDING_S = 7.0
#: How often the node looks at its topics.
ROUND_S = 0.03


def say(line: str) -> None:
    """A line of progress for the person at the terminal."""
    print(line, flush=True)


class PlannerNode(Node):
    """One task at a time, each in a thread of its own; the caller spins."""

    def __init__(self) -> None:
        super().__init__("planner", start_parameter_services=False)
        self.parameters = read_parameters(self)
        check_planner(self.parameters.planner)
        self.settings = planner_settings()
        self.profile = profiles.load(self.parameters.robot)
        self.topics = Topics(self)
        self.watch = Watch(self, self._on_gate)
        self.last_status: str | None = None
        self._lock = threading.Lock()
        self._current: TaskRun | None = None
        self._thread: threading.Thread | None = None
        self._tasks = 0
        base = self.parameters.run_dir or f"runs/{datetime.now():%Y%m%d-%H%M%S}"
        self._run_dir = Path(base).expanduser().resolve()
        self.create_subscription(String, names.AGENT_TASK, self._on_task, qos.EVENTS)
        self.create_service(Trigger, names.AGENT_CANCEL, self._on_cancel)

    @property
    def busy(self) -> bool:
        """Whether a task is running."""
        return self._current is not None

    def begin(self, task: str) -> str:
        """Start a task; the reason when it is refused, else an empty string."""
        task = " ".join(task.split())
        if not task:
            return "the task is empty"
        with self._lock:
            if self._current is not None:
                return f"busy with another task; not taken: {task}"
            self._current = TaskRun(
                task,
                self._next_run_dir(),
                self.parameters,
                self.settings,
                self.profile,
                self.watch,
                self.topics,
                say,
                Settings(
                    robot=self.parameters.robot,
                    use_sim_time=bool(self.get_parameter("use_sim_time").value),
                    namespace=self.get_namespace().strip("/"),
                ),
            )
        self._thread = threading.Thread(target=self._run, args=(self._current,), name="episode", daemon=True)
        self._thread.start()
        return ""

    def end(self, status: str, reason: str) -> bool:
        """End the running task: hold, interrupt, leave. False when there is none or it was told before."""
        current = self._current
        if current is None or not current.end(status, reason):
            return False
        threading.Thread(target=current.interrupt, args=(reason,), daemon=True, name="interrupt").start()
        return True

    def abandon(self) -> None:
        """Leave the running task behind with a result."""
        current = self._current
        if current is not None:
            current.abandon()

    def _run(self, task_run: TaskRun) -> None:
        status = "error"
        try:
            status = task_run.run().status
        except Exception as error:  # noqa: BLE001  a broken episode must not leave the node busy for ever
            what = f"{type(error).__name__}: {error}"
            self.get_logger().error(f"the episode broke: {what}")
            self.topics.set_phase("error", summary=what)
        finally:
            with self._lock:
                self._current = None
                self.last_status = status

    def _next_run_dir(self) -> Path:
        self._tasks += 1
        if self._tasks == 1 and not (self._run_dir / "events.jsonl").exists():
            return self._run_dir
        number = max(self._tasks, 2)
        while (self._run_dir / f"task-{number:03d}").exists():
            number += 1
        return self._run_dir / f"task-{number:03d}"

    def _on_task(self, message: String) -> None:
        problem = self.begin(message.data)
        if problem:
            self.get_logger().warning(f"task refused: {problem}")
            self.topics.refuse(problem)

    def _on_cancel(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.end("cancelled", f"cancelled on {names.AGENT_CANCEL}")
        response.message = "the task is ending" if response.success else "no task is running"
        return response

    def _on_gate(self, state: GateState) -> None:
        if state.mode == "stopped":
            self.end("stopped", describe_stop(state))


def _spin(node: PlannerNode, signals: list[int]) -> int:
    """Spin until a signal, or until the task is done if that was asked for; returns the exit code."""
    executor = RoundExecutor()
    executor.add_node(node)
    deadline = float("inf")
    while time.monotonic() < deadline:
        try:
            executor.spin_round(ROUND_S)
        except ExternalShutdownException:
            return 0
        except Exception as error:  # noqa: BLE001  a callback's exception must not end the node
            node.get_logger().error(f"a callback failed: {type(error).__name__}: {error}")
        node.watch.run_jobs()
        if signals:
            if not node.busy:
                return 0
            if deadline == float("inf"):
                deadline = time.monotonic() + ENDING_S
                node.end("cancelled", f"interrupted by {signal.Signals(signals[0]).name}")
        elif node.parameters.exit_when_done and node.last_status is not None and not node.busy:
            return {"done": 0, "error": 1}.get(node.last_status, 2)
    node.get_logger().error(f"the episode did not end within {ENDING_S:g} s")
    node.abandon()
    return 0


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    signals: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        signals.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, remember)
    rclpy.init(args=None if args is None else list(args), signal_handler_options=SignalHandlerOptions.NO)
    try:
        try:
            node = PlannerNode()
        except (ValueError, ConfigError) as error:
            print(f"planner: {error}", file=sys.stderr)
            return 1
        if node.parameters.task:
            node.begin(node.parameters.task)
        try:
            return _spin(node, signals)
        finally:
            node.destroy_node()
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    sys.exit(main())
