"""A motion that waits for a person's approval, as the arm follows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pyrua_ros.primitives import arm
from pyrua_ros.robot_model.trajectory import Trajectory
from pyrua_ros.wire.gate import GateEvent

REST = np.zeros((2, 1))
MOTION = Trajectory(("j",), np.array([0.0, 1.0]), np.array([[0.0], [0.0]]), REST, REST)


@dataclass
class Gate:
    """What the arm has heard so far."""

    mode: str = "agent"
    heard: list[GateEvent] = field(default_factory=list)

    def events(self, goal: str) -> list[GateEvent]:
        return self.heard

    def ended(self, goal: str) -> GateEvent | None:
        return next((event for event in self.heard if event.terminal), None)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(s=100.0)
    monkeypatch.setattr(arm.time, "monotonic", lambda: clock.s)
    return clock


def watching(gate: Gate, clock: SimpleNamespace) -> Any:
    runtime: Any = SimpleNamespace(now=lambda: clock.s)
    reading = SimpleNamespace(arrived_s=float("inf"))
    joints: Any = SimpleNamespace(
        arm=SimpleNamespace(latest=lambda: reading, travel=lambda window, steady=False: 0.0)
    )
    return arm._Watch(runtime, gate, joints, MOTION, "g")  # type: ignore[arg-type]


def test_a_person_may_take_any_time_to_approve_and_the_motion_is_timed_from_then_on(clock):
    gate = Gate()
    watch = watching(gate, clock)
    gate.heard.append(GateEvent(goal="g", event="waiting", reason="a person must approve this motion"))
    for _ in range(600):
        clock.s += 1.0
        assert watch.verdict() is None
    assert watch.waiting
    gate.heard.append(GateEvent(goal="g", event="accepted"))
    assert watch.verdict() is None
    assert not watch.waiting
    clock.s += 2.0
    assert watch.verdict() is None
    clock.s += 1.0
    assert watch.verdict() == (
        "timeout",
        "the motion should have taken 1.0 s and has not ended after 3.0 s",
    )


def test_a_refusal_of_a_waiting_motion_is_its_end_with_the_comment(clock):
    gate = Gate()
    watch = watching(gate, clock)
    gate.heard.append(GateEvent(goal="g", event="waiting"))
    clock.s += 100.0
    assert watch.verdict() is None
    gate.heard.append(GateEvent(goal="g", event="refused", reason="go round the cup"))
    assert watch.verdict() == ("refused", "go round the cup")
