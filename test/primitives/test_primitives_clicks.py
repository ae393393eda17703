"""A person's click reaches the cell that waits for it."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest
import rclpy
from geometry_msgs.msg import PointStamped

from pyrua_ros.errors import Preempted, RobotError
from pyrua_ros.primitives.clicks import Clicks
from pyrua_ros.primitives.runtime import Runtime

Click = Callable[..., None]


@pytest.fixture
def runtime(ros_domain: int) -> Iterator[Runtime]:
    runtime = Runtime()
    yield runtime
    runtime.close()


@pytest.fixture
def clicks(runtime: Runtime) -> Clicks:
    clicks = Clicks(runtime, runtime.node("arm"), "fr3_link0")
    runtime.start()
    return clicks


@pytest.fixture
def click(clicks: Clicks) -> Iterator[Click]:
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("rviz", context=context)
    publisher = node.create_publisher(PointStamped, "clicked_point", 10)
    deadline = time.monotonic() + 20
    while not publisher.get_subscription_count() and time.monotonic() < deadline:
        time.sleep(0.02)

    def publish(frame: str, x: float) -> None:
        message = PointStamped()
        message.header.frame_id = frame
        message.point.x, message.point.y, message.point.z = x, -0.2, 0.1
        publisher.publish(message)

    timers: list[threading.Timer] = []

    def later(frame: str = "fr3_link0", x: float = 0.5, after_s: float = 0.3) -> None:
        timers.append(threading.Timer(after_s, publish, (frame, x)))
        timers[-1].start()

    yield later
    for timer in timers:
        timer.join()
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_a_click_made_while_waiting_is_returned(clicks: Clicks, click: Click) -> None:
    click()
    assert clicks.wait(20).tolist() == [0.5, -0.2, 0.1]


def test_a_click_made_before_the_call_does_not_count(clicks: Clicks, click: Click) -> None:
    click()
    clicks.wait(20)
    with pytest.raises(RobotError, match="nobody clicked a point within 0.2 s"):
        clicks.wait(0.2)


def test_a_click_in_another_frame_names_the_frame_to_set(clicks: Clicks, click: Click) -> None:
    click(frame="camera")
    with pytest.raises(RobotError, match="in frame 'camera': set RViz's fixed frame to 'fr3_link0'"):
        clicks.wait(20)


def test_a_click_on_nothing_is_refused(clicks: Clicks, click: Click) -> None:
    click(x=float("nan"))
    with pytest.raises(RobotError, match="not finite"):
        clicks.wait(20)


def test_a_preemption_ends_the_waiting(clicks: Clicks, runtime: Runtime) -> None:
    threading.Timer(0.2, runtime.preempt, ("an operator took over",)).start()
    with pytest.raises(Preempted, match="an operator took over"):
        clicks.wait(20)
