"""Whether somebody else publishes on a topic that only this node may publish on."""

from __future__ import annotations

import time

from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

_NAMELESS = "_NODE_NAME_UNKNOWN_"


class ExclusiveTopics:
    """Watches `topics`. Create it, and call `settle`, before the node's own publishers; `claim` after."""

    def __init__(self, node: Node, topics: tuple[str, ...]) -> None:
        self._node = node
        self._topics = tuple(node.resolve_topic_name(topic) for topic in topics)
        self._own: set[bytes] = set()

    def settle(self, until: float) -> str:
        """Look until monotonic time `until`; returns the first intruder, or an empty string."""
        while True:
            found = self.intruder()
            if found or time.monotonic() >= until:
                return found
            time.sleep(0.05)

    def claim(self) -> str:
        """Learn the node's own publishers, one per topic; returns an intruder, or an empty string."""
        for topic in self._topics:
            infos = self._node.get_publishers_info_by_topic(topic)
            mine = [info for info in infos if self._is_named_like_me(info)]
            if len(infos) > 1 or len(mine) != 1:
                return self._describe(topic, infos[0])
            self._own.add(bytes(mine[0].endpoint_gid))
        return ""

    def intruder(self) -> str:
        """One line about a publisher that is not ours, or an empty string."""
        for topic in self._topics:
            for info in self._node.get_publishers_info_by_topic(topic):
                if bytes(info.endpoint_gid) not in self._own:
                    return self._describe(topic, info)
        return ""

    def _is_named_like_me(self, info: TopicEndpointInfo) -> bool:
        return (info.node_name, info.node_namespace) == (self._node.get_name(), self._node.get_namespace())

    def _describe(self, topic: str, info: TopicEndpointInfo) -> str:
        # A publisher is discovered a moment before the name of its node.
        deadline = time.monotonic() + 0.5
        while info.node_name == _NAMELESS and time.monotonic() < deadline:
            time.sleep(0.02)
            for again in self._node.get_publishers_info_by_topic(topic):
                if again.endpoint_gid == info.endpoint_gid:
                    info = again
        name = (
            "of unknown name"
            if info.node_name == _NAMELESS
            else f"{info.node_namespace.rstrip('/')}/{info.node_name}"
        )
        return (
            f"{topic} has another publisher, node {name}: only the gate may command the robot; stop that node"
        )
