"""Whether a message comes from a process that also sends commands as the agent."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rclpy.node import Node

#: Fast DDS gives all participants of one process the same first bytes: vendor, host, process.
_PROCESS_BYTES = 8
_LOOK_S = 0.5


class AgentProcesses:
    """Knows the processes that have publishers on the agent's inputs.

    A person's answer, or an operator's command, is not taken from there: a cell that opens another node or
    another context is still in the agent's process. A program that it starts is not; other DDS vendors may
    number differently, and then nothing is recognized.
    """

    def __init__(self, node: Node, topics: tuple[str, ...]) -> None:
        self._node = node
        self._topics = topics
        self._known: set[bytes] = set()
        self._looked = float("-inf")

    def sent(self, info: Mapping[str, Any]) -> bool:
        """Whether the message that came with `info` was sent by one of them."""
        gid = info.get("publisher_gid")
        if gid is None:
            return False
        now = time.monotonic()
        if now - self._looked > _LOOK_S:
            self._looked = now
            self._known |= {
                bytes(publisher.endpoint_gid)[:_PROCESS_BYTES]
                for topic in self._topics
                for publisher in self._node.get_publishers_info_by_topic(topic)
            }
        return bytes(gid["data"])[:_PROCESS_BYTES] in self._known
