"""What the simulator costs: its speed with idle and with busy cameras, and the memory of the whole graph."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image

from pyrua_ros import bringup
from pyrua_ros.backends.mujoco.control import ControlError
from pyrua_ros.executor.client import KernelClient
from pyrua_ros.primitives.settings import Settings
from pyrua_ros.running import Run
from pyrua_ros.wire import config, names, qos

if TYPE_CHECKING:
    from typing_extensions import Self

_START_S = 60.0
_WARM_UP_S = 2.0


@dataclass(frozen=True)
class SimFigures:
    """Measured with gate and executor running."""

    realtime_factor_idle: float
    realtime_factor_cameras: float  # colour, depth and intrinsics of all cameras subscribed
    frames_per_s: float  # of the slowest camera, in wall time
    ms_per_frame: float  # colour and depth
    rss_mb: float  # of the simulator
    graph_pss_mb: float  # of all processes; shared memory counted once

    def as_dict(self) -> dict[str, float]:
        """Figure by name."""
        return asdict(self)


def measure(run: Run, seconds: float = 10.0) -> SimFigures:
    """Measure a running graph whose backend is the simulator, `seconds` with idle and as long with busy cameras.

    Raises
    ------
    TimeoutError
        When the simulation does not run, or a camera sends nothing.
    """
    os.environ.update(
        {k: v for k, v in bringup.environment(run.runtime).items() if k.startswith(("ROS_", "RMW_", "FAST"))}
    )
    _wait_for_simulation(run)
    with _kernel(run):
        time.sleep(_WARM_UP_S)
        idle = _realtime_factor(run, seconds)
        with _Viewer(run.runtime.domain) as viewer:
            viewer.wait_for_frames()
            before, began = run.control.stats(), time.monotonic()
            viewer.clear()
            busy = _realtime_factor(run, seconds, viewer)
            after, wall = run.control.stats(), time.monotonic() - began
            slowest = min(viewer.colors.values()) / wall
        frames = after["frames"] - before["frames"]
        spent = after["ms_per_frame"] * after["frames"] - before["ms_per_frame"] * before["frames"]
        processes = [*run.supervisor.pids.values(), os.getpid()]
        everyone = {pid for parent in processes for pid in _family(parent)} - {os.getpid()}
        return SimFigures(
            realtime_factor_idle=idle,
            realtime_factor_cameras=busy,
            frames_per_s=slowest,
            ms_per_frame=spent / frames if frames else float("nan"),
            rss_mb=_memory(run.supervisor.pids["mujoco"], "status", "VmRSS"),
            graph_pss_mb=sum(_memory(pid, "smaps_rollup", "Pss") for pid in everyone),
        )


class _Viewer:
    """Subscribes to everything that the cameras send, and counts."""

    def __init__(self, domain: int) -> None:
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = Node("viewer", context=self._context, start_parameter_services=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        cameras = [camera.name for camera in config.cameras().cameras]
        self.colors = dict.fromkeys(cameras, 0)
        for name in cameras:
            self._subscribe(Image, names.color(name), name)
            self._subscribe(Image, names.depth(name))
            self._subscribe(CameraInfo, names.color_info(name))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def spin(self, seconds: float) -> None:
        """Receive for `seconds`."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._executor.spin_once(timeout_sec=left)

    def wait_for_frames(self) -> None:
        """Until every camera has sent an image."""
        deadline = time.monotonic() + _START_S
        while not all(self.colors.values()):
            if time.monotonic() > deadline:
                silent = [name for name, count in self.colors.items() if not count]
                raise TimeoutError(f"no image from {', '.join(silent)} within {_START_S:.0f} s")
            self.spin(0.1)

    def clear(self) -> None:
        """Count from zero."""
        self.colors = dict.fromkeys(self.colors, 0)

    def _subscribe(self, kind: type, topic: str, counted: str | None = None) -> None:
        def received(_message: bytes) -> None:
            if counted is not None:
                self.colors[counted] += 1

        # Raw, so that this process takes as little as possible from the ones it measures.
        self._node.create_subscription(kind, topic, received, qos.SENSOR, raw=True)


@contextmanager
def _kernel(run: Run) -> Iterator[KernelClient]:
    settings = Settings(robot=run.args.robot, use_sim_time=True)
    kernel = KernelClient(
        settings.model_dump_json(),
        run.runtime.run_dir / "workspace",
        run.runtime.folder,
        log=run.runtime.run_dir / "log" / "kernel.log",
    )
    kernel.start(_START_S)
    try:
        yield kernel
    finally:
        kernel.shutdown()


def _wait_for_simulation(run: Run) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        with suppress(ControlError):
            if run.control.stats()["sim_time"] > 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"the simulation does not run after {_START_S:.0f} s")


def _realtime_factor(run: Run, seconds: float, viewer: _Viewer | None = None) -> float:
    before, began = run.control.stats()["sim_time"], time.monotonic()
    if viewer is None:
        time.sleep(seconds)
    else:
        viewer.spin(seconds)
    after, ended = run.control.stats()["sim_time"], time.monotonic()
    return float(after - before) / (ended - began)


def _family(pid: int) -> set[int]:
    """`pid` and all its descendants."""
    found = {pid}
    try:
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in children.read_text().split():
                found |= _family(int(child))
    except OSError:
        pass
    return found


def _memory(pid: int, file: str, key: str) -> float:
    """Megabytes under `key` of a process; 0 when it has ended."""
    try:
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0
