"""How long the parts take: an empty cell, the first frame of an idle camera, a trajectory until the arm moves."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import rclpy
from numpy.typing import NDArray
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from pyrua_ros import bringup
from pyrua_ros.executor.client import KernelClient
from pyrua_ros.motion.timing import time_path
from pyrua_ros.primitives.settings import Settings
from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.robot_model.trajectory import Trajectory
from pyrua_ros.running import Run
from pyrua_ros.wire import config, names, qos, trajectories
from pyrua_ros.wire.gate import GateEvent

if TYPE_CHECKING:
    from typing_extensions import Self

FloatArray = NDArray[np.float64]

_START_S = 60.0
_WARM_UP_CELLS = 20
_IDLE_S = 0.005  # about what a cell takes
_STEP_RAD = 0.1  # of the last joint, there and back
_MOVED_RAD = 0.001
_MOTION_S = 10.0
_AFTER_FAILURE_S = 0.5


@dataclass(frozen=True)
class LatencyFigures:
    """Medians and extremes of one run, all in wall time."""

    cell_p50_ms: float
    cell_p99_ms: float
    idle_loop_p99_ms: float  # of a loop that sleeps 5 ms, taking turns with the cells
    joint_states_hz: float  # that arrived during these cells, here and in the kernel alike
    frame_extra_ms: float  # first frame of an idle camera, beyond one frame period; median
    frame_extra_max_ms: float
    first_motion_ms: float  # trajectory published until a joint state shows 1 mrad; median
    first_motion_max_ms: float
    first_motion_planned_ms: float  # of it, what the trajectory itself takes to 1 mrad
    motions_failed: int  # refused or held, as on an overloaded machine; not in the figures above
    kernel_start_s: float
    rows: Sequence[Mapping[str, Any]] = ()

    def as_dict(self) -> dict[str, float]:
        """Figure by name."""
        return {name: value for name, value in vars(self).items() if name != "rows"}


def measure(run: Run, *, cells: int = 400, captures: int = 5, motions: int = 12) -> LatencyFigures:
    """Measure a running graph that nobody else uses.

    Parameters
    ----------
    run : robot and gate at wall speed.
    cells : empty cells, each followed by a turn of the idle loop.
    captures : fresh kernels, each of which takes the first frame of every camera.
    motions : short motions.

    Raises
    ------
    ValueError
        The graph does not run at wall speed.
    TimeoutError, RuntimeError
        A part is silent, a cell fails, or the gate lets no motion through.
    """
    if run.args.rtf != 1:
        raise ValueError(f"latency is measured at wall speed: leave rtf:={run.args.rtf:g} out")
    wanted = ("ROS_", "RMW_", "FAST")
    os.environ.update({k: v for k, v in bringup.environment(run.runtime).items() if k.startswith(wanted)})
    with _Robot(run) as robot:
        robot.wait_for_states()
        starts: list[float] = []
        with _kernel(run, starts) as kernel:
            cell, idle, hz = _cells(kernel, robot, cells)
        frames = [row for _ in range(captures) for row in _captures(run, starts)] if _renders(run) else []
        motion, failures = _motions(robot, motions)
    extra = [row["extra_ms"] for row in frames] or [float("nan")]
    return LatencyFigures(
        cell_p50_ms=_percentile(cell, 50),
        cell_p99_ms=_percentile(cell, 99),
        idle_loop_p99_ms=_percentile(idle, 99),
        joint_states_hz=hz,
        frame_extra_ms=statistics.median(extra),
        frame_extra_max_ms=max(extra),
        first_motion_ms=statistics.median(motion),
        first_motion_max_ms=max(motion),
        first_motion_planned_ms=robot.planned_ms,
        motions_failed=failures,
        kernel_start_s=statistics.median(starts),
        rows=[*frames, *({"first_motion_ms": ms} for ms in motion)],
    )


def _renders(run: Run) -> bool:
    return run.args.render != "off"


def _percentile(values: Sequence[float], percent: float) -> float:
    return float(np.percentile(values, percent))


@contextmanager
def _kernel(run: Run, starts: list[float]) -> Iterator[KernelClient]:
    """Start a kernel with `robo`; its start-up time is added to `starts`."""
    kernel = KernelClient(
        Settings(robot=run.args.robot, use_sim_time=True).model_dump_json(),
        run.runtime.run_dir / "workspace",
        run.runtime.folder,
        log=run.runtime.run_dir / "log" / "kernel.log",
    )
    began = time.monotonic()
    kernel.start(_START_S)
    starts.append(time.monotonic() - began)
    try:
        yield kernel
    finally:
        kernel.shutdown()


def _cells(kernel: KernelClient, robot: _Robot, count: int) -> tuple[list[float], list[float], float]:
    """Milliseconds of empty cells and of the idle loop, and joint states per second meanwhile."""
    _checked(kernel, "robo.state()")  # joint states arrive in the kernel, too
    for _ in range(_WARM_UP_CELLS):
        _checked(kernel, "pass")
    cell, idle = [], []
    states, began = robot.states, time.monotonic()
    for _ in range(count):
        cell.append(_milliseconds(lambda: _checked(kernel, "pass")))
        idle.append(_milliseconds(lambda: time.sleep(_IDLE_S)))
    return cell, idle, (robot.states - states) / (time.monotonic() - began)


def _milliseconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def _checked(kernel: KernelClient, code: str) -> str:
    result = kernel.run(code, _START_S)
    if result.status != "ok":
        raise RuntimeError(f"the cell {code!r} failed: {result.text}")
    return result.text


def _captures(run: Run, starts: list[float]) -> list[dict[str, Any]]:
    """First frame of each camera in a fresh kernel: before it nobody subscribes."""
    rows = []
    with _kernel(run, starts) as kernel:
        _checked(kernel, "import time\nrobo.state()")
        for camera in config.cameras().cameras:
            took = _checked(
                kernel,
                f"began = time.perf_counter()\nrobo.image({camera.name!r}, timeout=10.0)\n"
                "print((time.perf_counter() - began) * 1000)",
            )
            period_ms = 1000 / camera.rate_hz
            rows.append({"camera": camera.name, "frame_ms": float(took), "extra_ms": float(took) - period_ms})
    return rows


def _until_moved_ms(trajectory: Trajectory) -> float:
    moments = np.linspace(0.0, trajectory.duration, round(trajectory.duration * 1000) + 1)
    away = [np.abs(trajectory.sample(t).position - trajectory.positions[0]).max() for t in moments]
    return float(moments[int(np.argmax(np.array(away) >= _MOVED_RAD))] * 1000)


def _motions(robot: _Robot, count: int) -> tuple[list[float], int]:
    """Milliseconds of the motions that were carried out, and how many were not."""
    took: list[float] = []
    failures, problem, sign = 0, "", 1
    while len(took) < count and failures < 3 * count:
        try:
            took.append(robot.time_to_motion(sign))
            sign = -sign
        except RuntimeError as error:
            failures, problem = failures + 1, str(error)
            time.sleep(_AFTER_FAILURE_S)
    if not took:
        raise RuntimeError(f"not one of {failures} motions was carried out, the last because {problem}")
    return took, failures


class _Robot:
    """The robot as the gate's client sees it: counts joint states, sends motions, notes when the arm moves."""

    def __init__(self, run: Run) -> None:
        self._profile = profiles.load(run.args.robot)
        self._context = Context()
        rclpy.init(context=self._context, domain_id=run.runtime.domain)
        self._node = Node("latency", context=self._context, start_parameter_services=False)
        self._node.create_subscription(JointState, names.JOINT_STATES, self._on_state, qos.SENSOR, raw=True)
        self._node.create_subscription(String, names.GATE_EVENTS, self._on_event, qos.EVENTS)
        self._publisher = self._node.create_publisher(
            JointTrajectory, names.AGENT_TRAJECTORY, qos.COMMAND_OFFERED
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._changed = threading.Condition()
        self.states = 0
        self.planned_ms = float("nan")
        self._newest: bytes | None = None
        self._watched: FloatArray | None = None  # positions that the arm is to leave
        self._moved_at: float | None = None
        self._events: list[GateEvent] = []
        self._thread = threading.Thread(target=self._spin, name="latency", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._thread.join(2.0)
        self._node.destroy_node()
        self._context.try_shutdown()

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except (ExternalShutdownException, ShutdownException):
            return

    def _on_state(self, raw: bytes) -> None:
        now = time.perf_counter()
        self.states += 1
        self._newest = raw
        watched = self._watched
        if watched is None or self._moved_at is not None:
            return
        if np.abs(self._arm(raw) - watched).max() >= _MOVED_RAD:
            self._moved_at = now

    def _on_event(self, message: String) -> None:
        with self._changed:
            self._events.append(GateEvent.model_validate_json(message.data))
            self._changed.notify_all()

    def _arm(self, raw: bytes) -> FloatArray:
        message = deserialize_message(raw, JointState)
        position = dict(zip(message.name, message.position, strict=True))
        return np.array([position[joint] for joint in self._profile.arm.joints])

    def wait_for_states(self) -> None:
        """Until joint states arrive and the gate listens."""
        self._wait(
            lambda: self._newest is not None and self._publisher.get_subscription_count() > 0,
            _START_S,
            "no joint states, or no gate",
        )

    def time_to_motion(self, sign: int) -> float:
        """Milliseconds from publishing a motion of the last joint to the first state that shows 1 mrad of it."""
        assert self._newest is not None
        start = self._arm(self._newest)
        end = start.copy()
        end[-1] += sign * _STEP_RAD
        goal = f"latency-{time.monotonic_ns()}"
        trajectory = time_path([start, end], self._profile)
        self.planned_ms = _until_moved_ms(trajectory)
        message = trajectories.to_message(trajectory, goal)
        with self._changed:
            self._events.clear()
            self._watched, self._moved_at = start, None
        began = time.perf_counter()
        self._publisher.publish(message)
        self._wait(lambda: self._ending(goal) is not None, _MOTION_S, "the motion did not end")
        ending, moved_at, self._watched = self._ending(goal), self._moved_at, None
        if ending is None or ending.event != "done" or moved_at is None:
            raise RuntimeError(f"the gate said {ending and ending.event}: {ending and ending.reason}")
        return (moved_at - began) * 1000

    def _ending(self, goal: str) -> GateEvent | None:
        return next((event for event in self._events if event.goal == goal and event.terminal), None)

    def _wait(self, until: Callable[[], bool], timeout_s: float, problem: str) -> None:
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while not until():
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(
                        f"{problem} within {timeout_s:g} s on ROS domain {self._context.get_domain_id()}"
                    )
                self._changed.wait(min(left, 0.1))
