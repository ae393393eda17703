"""The thread that steps the world."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

from pyrua_ros.backends.mujoco.simulation import Simulation

DEADLINE_S = 30.0


class Recorder:
    """Collects what a simulation reports."""

    def __init__(self, world, rtf):
        self.states, self.stamps, self.errors = [], [], []
        self.simulation = Simulation(world, rtf, self._state, self.errors.append)

    def _state(self, state, stamp):
        self.states.append(state)
        self.stamps.append(stamp)

    def until(self, condition):
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.002)


@pytest.fixture
def fast(driver):
    recorder = Recorder(driver.world, 0.0)
    yield recorder
    recorder.simulation.stop()


def test_states_come_every_four_milliseconds_with_their_own_time(fast):
    fast.simulation.start()
    fast.until(lambda: len(fast.states) >= 50)
    fast.simulation.stop()
    np.testing.assert_allclose([s.time for s in fast.states], 0.004 * np.arange(1, len(fast.states) + 1))
    assert fast.stamps == [round(state.time * 1e9) for state in fast.states]


def test_it_does_not_run_past_the_moment_that_somebody_waits_for(fast):
    fast.simulation.wait_for(0.1)
    fast.simulation.start()
    fast.until(lambda: fast.states and fast.states[-1].time >= 0.1)
    time.sleep(0.05)
    assert fast.states[-1].time == pytest.approx(0.1, abs=0.0041)
    fast.simulation.wait_for(float("inf"))
    fast.until(lambda: fast.states[-1].time > 0.2)


def test_a_snapshot_has_the_positions_of_its_time(fast):
    fast.simulation.wait_for(0.05)
    fast.simulation.start()
    fast.until(lambda: fast.states and fast.states[-1].time >= 0.05)
    snapshot = fast.simulation.snapshot()
    assert snapshot.stamp == fast.stamps[-1]
    np.testing.assert_array_equal(snapshot.qpos[:7], fast.states[-1].position[:7])


def test_unpaced_physics_leaves_the_processor_to_whoever_follows_it(fast):
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    threads = []
    fast.simulation._on_state = lambda *_: threads.append(threading.get_native_id())
    fast.simulation.start()
    fast.until(lambda: threads)
    assert os.getpriority(os.PRIO_PROCESS, threads[0]) == min(own + 5, 19)
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == own


def test_a_failing_step_is_reported_once_and_ends_it(fast, monkeypatch):
    def broken():
        raise FloatingPointError("unstable")

    monkeypatch.setattr(fast.simulation.world, "step", broken)
    fast.simulation.start()
    fast.until(lambda: fast.errors)
    assert [str(error) for error in fast.errors] == ["unstable"]
    fast.until(lambda: not any(thread.name == "physics" for thread in threading.enumerate()))


def test_at_wall_speed_time_keeps_pace_or_falls_behind_but_never_runs_ahead(driver):
    recorder = Recorder(driver.world, 1.0)
    began = time.monotonic()
    recorder.simulation.start()
    recorder.until(lambda: len(recorder.states) >= 50)
    recorder.simulation.stop()
    assert recorder.states[-1].time <= time.monotonic() - began + 0.0041
