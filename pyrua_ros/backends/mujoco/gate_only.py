"""Lets commands through only from the gate's own publisher, pinned when the gate appears."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

_GID_BYTES = 16
_DISCOVERY_S = 0.3  # a publisher's node name arrives a little after its first message can
_POLL_S = 0.02


class GateOnly:
    """Guards one command topic: a message passes when its publisher belongs to node `gate`.

    The first such publisher is pinned; while it exists no other passes, whatever its node is called.
    """

    def __init__(self, node: Node, topic: str, gate: str = "gate") -> None:
        self._node = node
        self._topic = topic
        self._gate = gate
        self._pinned: bytes | None = None
        self._warned: set[bytes | None] = set()

    def look(self) -> None:
        """Pin the gate's publisher when it is there and none is pinned."""
        self._pin(self._publishers())

    def allows(self, info: Mapping[str, Any]) -> bool:
        """Whether the message that came with `info` is the gate's; a foreign publisher is logged once."""
        sender = _sender(info)
        if sender is not None and sender == self._pinned:
            return True
        deadline = time.monotonic() + _DISCOVERY_S
        while True:
            publishers = self._publishers()
            self._pin(publishers)
            if sender is None:
                # Older clients do not say who sent a message: then nobody else may even be there.
                allowed = bool(publishers) and all(self._is_gate(p) for p in publishers.values())
            else:
                allowed = sender == self._pinned
            if allowed:
                return True
            known = sender is None or (sender in publishers and "UNKNOWN" not in publishers[sender].node_name)
            if known or time.monotonic() > deadline:
                break
            time.sleep(_POLL_S)
        if sender not in self._warned:
            self._warned.add(sender)
            name = publishers[sender].node_name if sender in publishers else "unknown"
            self._node.get_logger().warning(
                f"dropped a command on {self._topic} from node '{name}': only the gate may command the robot"
            )
        return False

    def _publishers(self) -> dict[bytes, TopicEndpointInfo]:
        return {_short(p.endpoint_gid): p for p in self._node.get_publishers_info_by_topic(self._topic)}

    def _pin(self, publishers: Mapping[bytes, TopicEndpointInfo]) -> None:
        if self._pinned in publishers:
            return
        self._pinned = next((gid for gid, p in publishers.items() if self._is_gate(p)), None)

    def _is_gate(self, publisher: TopicEndpointInfo) -> bool:
        return bool(
            publisher.node_name == self._gate and publisher.node_namespace == self._node.get_namespace()
        )


def _sender(info: Mapping[str, Any]) -> bytes | None:
    gid = info.get("publisher_gid")
    return None if gid is None else _short(gid["data"])


def _short(gid: Any) -> bytes:
    return bytes(gid)[:_GID_BYTES]
