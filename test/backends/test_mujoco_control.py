"""The control socket: answers, refusals, deadlines."""

from __future__ import annotations

import socket

import pytest

from pyrua_ros.backends.mujoco.control import ControlClient, ControlError, ControlServer


def broken():
    raise RuntimeError("no such body")


@pytest.fixture
def ends():
    here, there = socket.socketpair()
    server = ControlServer(there, {"score": lambda: {"success": True, "detail": {}}, "truth": broken})
    yield here
    here.close()
    server.close()


def test_a_question_gets_its_answer_again_and_again(ends):
    client = ControlClient(ends)
    for _ in range(3):
        assert client.score() == {"success": True, "detail": {}}


def test_a_failing_handler_is_an_error_with_its_reason_and_the_line_stays_up(ends):
    client = ControlClient(ends)
    with pytest.raises(ControlError, match="RuntimeError: no such body"):
        client.truth()
    assert client.score()["success"] is True


@pytest.mark.parametrize("line", [b"score\n", b"[]\n", b'{"ask": "poses"}\n', b'{"ask": ["score"]}\n', b"\n"])
def test_nonsense_is_answered_with_what_is_expected(ends, line):
    ends.sendall(line)
    assert b"expected" in ends.recv(1000)


def test_a_simulator_that_does_not_answer_is_an_error_after_the_deadline():
    here, there = socket.socketpair()
    with pytest.raises(ControlError, match="did not answer 'score'"):
        ControlClient(here, timeout_s=0.05).score()
    there.close()


def test_a_late_answer_is_not_taken_for_the_next_one():
    here, there = socket.socketpair()
    client = ControlClient(here, timeout_s=0.05)
    with pytest.raises(ControlError):
        client.score()
    there.sendall(b'{"success": false, "id": 1}\n{"success": true, "id": 2}\n')
    assert client.score() == {"success": True}
    there.close()


def test_a_simulator_that_is_gone_is_said_so():
    here, there = socket.socketpair()
    client = ControlClient(here)
    there.close()
    with pytest.raises(ControlError, match="the simulator"):
        client.stats()
