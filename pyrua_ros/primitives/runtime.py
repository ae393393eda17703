"""One rclpy context and one guarded spin thread for all primitive nodes, and waits that end when they must."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import rclpy
from rclpy.executors import ExternalShutdownException, ShutdownException
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from pyrua_ros.errors import Preempted, RobotError
from pyrua_ros.wire.spinning import RoundExecutor

T = TypeVar("T")

#: A wait looks at its condition at least this often, even when no callback reports a change.
POLL_S = 0.05
#: Rest between two rounds of callbacks: spinning per message would take the interpreter from the cell.
ROUND_S = 0.005
#: ROS time may stand still for this long (steady clock).
CLOCK_STANDSTILL_S = 1.0


class Runtime:
    """Owns the context, the nodes, the thread that spins them, and the sticky preemption.

    Callbacks change state under `changed` and notify it; primitives block in `wait`, which a
    `KeyboardInterrupt` leaves at once because it waits on a lock with a timeout.
    """

    def __init__(self, *, use_sim_time: bool = False, namespace: str = "") -> None:
        self.changed = threading.Condition()
        self.use_sim_time = use_sim_time
        self._namespace = namespace
        self._preempted: str | None = None
        self._motion = threading.Lock()
        self._mover = ""
        self._last_motion_end_ns = 0
        self._context = rclpy.Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._executor = RoundExecutor(context=self._context)
        self._nodes: list[Node] = []
        self._closing = False
        self._thread = threading.Thread(target=self._spin, name="rclpy", daemon=True)
        atexit.register(self.close)

    def node(self, name: str) -> Node:
        """Make a node that the background thread spins; the first one made carries ROS time."""
        keeps_time = self.use_sim_time and not self._nodes
        node = Node(
            name,
            context=self._context,
            namespace=self._namespace or None,
            start_parameter_services=False,
            parameter_overrides=[Parameter("use_sim_time", value=True)] if keeps_time else [],
        )
        self._nodes.append(node)
        self._executor.add_node(node)
        return node

    def start(self) -> None:
        """Begin to spin."""
        self._thread.start()

    def _spin(self) -> None:
        while not self._closing and self._context.ok():
            try:
                self._executor.spin_round(ROUND_S)
            except (ExternalShutdownException, ShutdownException):
                return
            except Exception:
                if self._closing:
                    return
                logging.getLogger("pyrua_ros").exception("a ROS callback failed; spinning goes on")

    def close(self) -> None:
        """Stop spinning and leave the graph; a second call does nothing."""
        if self._closing:
            return
        self._closing = True
        atexit.unregister(self.close)
        self._executor.wake()
        if self._thread.is_alive() and threading.get_ident() != self._thread.ident:
            self._thread.join(timeout=2.0)
        for node in self._nodes:
            node.destroy_node()
        self._executor.shutdown(timeout_sec=0.5)
        rclpy.try_shutdown(context=self._context)

    # time

    def now_ns(self) -> int:
        """ROS time: the wall clock, or `/clock` in a simulator that does not run at wall speed."""
        return int(self._nodes[0].get_clock().now().nanoseconds)

    def now(self) -> float:
        """ROS time, s."""
        return self.now_ns() * 1e-9

    @property
    def last_motion_end_ns(self) -> int:
        """ROS time when the last motion of arm or fingers ended; 0 before the first."""
        return self._last_motion_end_ns

    # preemption

    def preempt(self, reason: str) -> None:
        """From now on every primitive raises `Preempted`; takes no lock, so a signal handler may call it."""
        if self._preempted is None:
            self._preempted = reason

    def clear_preemption(self) -> None:
        """Give a new cell its right to the robot."""
        self._preempted = None

    def check(self) -> None:
        """Raise `Preempted` when it is due."""
        if self._preempted is not None:
            raise Preempted(self._preempted)

    # waiting

    def forbid_in_callback(self) -> None:
        """Raise at once in the spin thread: whatever we would wait for could never arrive."""
        if threading.get_ident() == self._thread.ident:
            raise RobotError(
                "called from inside a ROS callback: robo's calls wait for messages that only this thread delivers; "
                "call it from the cell, or from a thread of your own"
            )

    def wait(self, until: Callable[[], T | None], timeout_s: float, *, preemptible: bool = True) -> T | None:
        """Return the first true value of `until`, or None after `timeout_s` s of steady time.

        `until` runs with `changed` held. Raises `Preempted` as soon as it is due, unless not `preemptible`.
        """
        self.forbid_in_callback()
        deadline = time.monotonic() + timeout_s
        with self.changed:
            while True:
                if preemptible:
                    self.check()
                value = until()
                if value:
                    return value
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self.changed.wait(min(left, POLL_S))

    @contextmanager
    def moving(self, what: str) -> Iterator[None]:
        """Take the right to move: one motion at a time, and frames taken before its end do not count."""
        self.forbid_in_callback()
        if not self._motion.acquire(blocking=False):
            raise RobotError(
                f"cannot {what}: {self._mover} is still under way in another thread; wait for it to return"
            )
        self._mover = what
        try:
            yield
        finally:
            self._last_motion_end_ns = self.now_ns()
            self._motion.release()


class ClockWatch:
    """Notices that ROS time stands still while steady time passes."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.restart()

    def restart(self) -> None:
        """Count from now."""
        self._ros_s, self._moved_s = self._runtime.now(), time.monotonic()

    def standstill(self) -> str:
        """Say that the clock has stood still for too long; empty while it goes."""
        if self._runtime.now() != self._ros_s:
            self.restart()
        elif time.monotonic() - self._moved_s > CLOCK_STANDSTILL_S:
            return f"ROS time stands still at {self._ros_s:.3f} s: /clock is paused or its publisher is gone"
        return ""
