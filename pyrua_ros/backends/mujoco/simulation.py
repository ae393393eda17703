"""Runs a `World` in a thread of its own, at wall speed, at another rate, or as fast as it can."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.backends.mujoco.model import CONTROL_PERIOD
from pyrua_ros.backends.mujoco.world import RobotState, World

_STATE_EVERY = 2  # control periods between joint states: 250 Hz
_MAX_LAG_S = 0.2  # a simulation that is further behind than this does not catch up
_RTF_WINDOW_S = 2.0
_NICENESS = 5


def _stamp(sim_time: float) -> int:
    return round(sim_time * 1e9)


@dataclass(frozen=True)
class Snapshot:
    """The simulation's positions at one moment."""

    time: float
    stamp: int  # ns
    qpos: NDArray[np.float64]


class Simulation:
    """Owns the thread that steps `world`.

    Parameters
    ----------
    rtf : simulated seconds per wall second; 0 is as fast as possible.
    on_state : called from the thread, 250 times per simulated second, with the state and its stamp.
    on_error : called once when stepping fails, in the thread, after which it ends.
    """

    def __init__(
        self,
        world: World,
        rtf: float,
        on_state: Callable[[RobotState, int], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        self.world = world
        #: Hold it to read or change the world.
        self.lock = threading.Lock()
        self.rtf = rtf
        self._on_state = on_state
        self._on_error = on_error
        self._stop = threading.Event()
        self._horizon = float("inf")
        self._marks: deque[tuple[float, float]] = deque([(time.monotonic(), world.time)])
        self._thread = threading.Thread(target=self._run, name="physics", daemon=True)

    def start(self) -> None:
        """Begin to step."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)

    def wait_for(self, horizon: float) -> None:
        """Do not run past simulation time `horizon` until told otherwise."""
        self._horizon = horizon

    def snapshot(self) -> Snapshot:
        """Present positions."""
        with self.lock:
            now = self.world.time
            return Snapshot(now, _stamp(now), self.world.data.qpos.copy())

    @property
    def paced(self) -> bool:
        """Whether it keeps to the wall clock, at some rate."""
        return self.rtf > 0

    @property
    def real_time_factor(self) -> float:
        """Simulated seconds per wall second over the last two seconds."""
        (wall0, sim0), (wall1, sim1) = self._marks[0], self._marks[-1]
        return (sim1 - sim0) / (wall1 - wall0) if wall1 > wall0 else 0.0

    def _run(self) -> None:
        try:
            self._loop()
        except Exception as error:  # noqa: BLE001 - handed to the owner, who ends the process
            if not self._stop.is_set():
                self._on_error(error)

    def _loop(self) -> None:
        if not self.paced:
            # Time may run as fast as there is processor left: whoever has to keep up with it comes first.
            thread = threading.get_native_id()
            own = os.getpriority(os.PRIO_PROCESS, thread)
            os.setpriority(os.PRIO_PROCESS, thread, min(own + _NICENESS, 19))
        origin_wall, origin_sim = time.monotonic(), self.world.time
        while not self._stop.is_set():
            with self.lock:
                for _ in range(_STATE_EVERY):
                    self.world.step()
                state = self.world.robot_state()
            self._on_state(state, _stamp(state.time))
            self._mark(state.time)
            while state.time >= self._horizon and not self._stop.wait(0.0005):
                pass
            if self.rtf == 0:
                continue
            ahead = origin_wall + (state.time - origin_sim) / self.rtf - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)
            elif ahead < -_MAX_LAG_S:
                origin_wall, origin_sim = time.monotonic(), state.time

    def _mark(self, sim: float) -> None:
        wall = time.monotonic()
        if wall - self._marks[-1][0] < 0.05:
            return
        self._marks.append((wall, sim))
        while wall - self._marks[0][0] > _RTF_WINDOW_S:
            self._marks.popleft()


assert _STATE_EVERY * CONTROL_PERIOD <= 0.005, "joint states come at 200 Hz or more"
