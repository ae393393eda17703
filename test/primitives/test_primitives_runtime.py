from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from peer import PROFILE, until
from std_msgs.msg import String

from pyrua_ros.errors import Preempted

FAR = np.array(PROFILE.arm.home) + [0.8, 0, 0, 0, 0, 0, 0]
#: Far beyond what any of these tests takes: a wait that runs this long was not ended by what is tested.
LONG_S = 120.0


def interrupt_when(ready):
    """Interrupt the main thread, as Ctrl-C does, once `ready()`."""

    def wait_and_kill():
        until(ready)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=wait_and_kill, daemon=True)
    thread.start()
    return thread


def test_an_interrupt_ends_a_wait_long_before_its_deadline(robo):
    started = time.monotonic()
    thread = interrupt_when(lambda: time.monotonic() - started > 0.3)
    with pytest.raises(KeyboardInterrupt):
        robo._guard.wait(lambda: None, LONG_S)
    thread.join()
    assert time.monotonic() - started < LONG_S / 2


def test_an_interrupt_in_mid_move_asks_the_gate_to_hold(robo, peer):
    thread = interrupt_when(lambda: len(peer.goals) == 1)
    with pytest.raises(KeyboardInterrupt):
        robo.move_joints(FAR, speed=0.05)
    thread.join()
    until(lambda: peer.holds >= 1)
    assert peer.holds == 1


def test_preemption_ends_a_wait_and_stays_until_the_next_cell(robo):
    started = time.monotonic()
    timer = threading.Timer(0.2, lambda: robo._guard.preempt("the task was cancelled"))
    timer.start()
    with pytest.raises(Preempted, match="the task was cancelled"):
        robo._guard.wait(lambda: None, LONG_S)
    assert time.monotonic() - started < LONG_S / 2
    with pytest.raises(Preempted, match="the task was cancelled"):
        robo.state()
    robo._guard.clear_preemption()
    assert robo.state().mode == "agent"


def test_the_first_reason_of_a_preemption_stays(robo):
    robo._guard.preempt("first")
    robo._guard.preempt("second")
    with pytest.raises(Preempted, match="first"):
        robo.state()


def test_a_callback_that_fails_does_not_end_spinning(robo, peer):
    node = robo._guard._nodes[0]
    heard: list[str] = []

    def callback(message: String) -> None:
        heard.append(message.data)
        raise RuntimeError("a fault in a callback")

    node.create_subscription(String, "nonsense", callback, 10)
    publisher = node.create_publisher(String, "nonsense", 10)
    until(lambda: publisher.get_subscription_count() == 1)
    for word in ("one", "two"):
        publisher.publish(String(data=word))
        until(lambda word=word: word in heard)
    assert heard == ["one", "two"]
    peer.width = 0.05
    until(lambda: robo.state().gripper_width == pytest.approx(0.05))


def test_the_nodes_leave_the_graph_when_the_session_ends(robo, peer):
    until(lambda: {"arm", "gripper", "camera"} <= set(peer._node.get_node_names()))
    robo._shutdown()
    robo._shutdown()
    until(lambda: not {"arm", "gripper", "camera"} & set(peer._node.get_node_names()))
    assert not robo._guard._thread.is_alive()
