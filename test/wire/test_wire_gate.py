from __future__ import annotations

import pytest
from pydantic import ValidationError

from pyrua_ros.wire.gate import GateEvent, GateState


@pytest.mark.parametrize("mode", ["agent", "operator", "stopped"])
def test_gate_state_survives_the_message(mode):
    state = GateState(mode=mode, why="pressed", who="ann", moving=True, boot_id="b1", stamp=12.25)
    assert GateState.from_message(state.to_message()) == state


def test_an_unknown_mode_is_an_error_not_a_guess():
    message = GateState(mode="agent").to_message()
    message.message = "party"
    with pytest.raises(ValidationError):
        GateState.from_message(message)


@pytest.mark.parametrize(
    ("event", "terminal"),
    [("accepted", False), ("refused", True), ("preempted", True), ("held", True), ("done", True)],
)
def test_every_event_but_accepted_ends_its_goal(event, terminal):
    assert GateEvent(goal="g", event=event).terminal is terminal
