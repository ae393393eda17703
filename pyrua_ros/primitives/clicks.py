"""Points that a person clicks in RViz ("Publish Point")."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import PointStamped
from numpy.typing import NDArray
from rclpy.node import Node

from pyrua_ros.errors import RobotError
from pyrua_ros.primitives.runtime import Runtime
from pyrua_ros.wire import names, qos


class Clicks:
    """Waits for a click that is made after the call; earlier ones do not count."""

    def __init__(self, runtime: Runtime, node: Node, base_link: str) -> None:
        self._runtime = runtime
        self._base_link = base_link
        self._newest: PointStamped | None = None
        node.create_subscription(PointStamped, names.CLICKED_POINT, self._on_click, qos.EVENTS)

    def wait(self, timeout_s: float) -> NDArray[np.float64]:
        """Return the point ``[3]``, m, in the base frame; raises RobotError when there is none or no finite one."""
        with self._runtime.changed:
            self._newest = None
        click = self._runtime.wait(lambda: self._newest, timeout_s)
        if click is None:
            raise RobotError(
                f"nobody clicked a point within {timeout_s:g} s: ask the person to use RViz's Publish Point tool"
            )
        frame = click.header.frame_id.lstrip("/")
        if frame != self._base_link:
            raise RobotError(
                f"the point was clicked in frame '{frame}': set RViz's fixed frame to '{self._base_link}'"
            )
        point = np.array([click.point.x, click.point.y, click.point.z])
        if not np.isfinite(point).all():
            raise RobotError(f"the clicked point is not finite: {point.tolist()}; click again")
        return point

    def _on_click(self, message: PointStamped) -> None:
        with self._runtime.changed:
            self._newest = message
            self._runtime.changed.notify_all()
