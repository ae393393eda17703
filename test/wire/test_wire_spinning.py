from __future__ import annotations

import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from std_msgs.msg import String

from pyrua_ros.wire import qos
from pyrua_ros.wire.spinning import RoundExecutor


@pytest.fixture
def node(ros_domain):
    context = Context()
    rclpy.init(context=context)
    node = Node("rounds", context=context, start_parameter_services=False)
    executor = RoundExecutor(context=context)
    executor.add_node(node)
    node.rounds = executor
    yield node
    executor.shutdown(timeout_sec=1.0)
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_rounds_deliver_every_message_in_order(node):
    heard: list[str] = []
    node.create_subscription(String, "words", lambda m: heard.append(m.data), qos.EVENTS)
    publisher = node.create_publisher(String, "words", qos.EVENTS)
    for _ in range(100):
        if publisher.get_subscription_count():
            break
        node.rounds.spin_round(0.02)
    for i in range(10):
        publisher.publish(String(data=str(i)))
    for _ in range(50):
        if len(heard) == 10:
            break
        node.rounds.spin_round(0.02)
    assert heard == [str(i) for i in range(10)]


def test_a_callback_that_fails_does_not_keep_others_from_running(node):
    heard: list[int] = []

    def fail():
        raise KeyError("broken")

    node.create_timer(0.01, fail)
    node.create_timer(0.01, lambda: heard.append(1))
    with pytest.raises(KeyError, match="broken"):
        for _ in range(20):
            node.rounds.spin_round(0.02)
    assert heard
