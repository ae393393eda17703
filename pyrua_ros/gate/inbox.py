"""The cheap checks before a command is even decoded: how many come, and how large they are."""

from __future__ import annotations

import struct

from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from pyrua_ros.gate.config import Input
from pyrua_ros.gate.limits import Refused


class RateLimit:
    """A token bucket: `rate_hz` sustained, `burst` at once."""

    def __init__(self, rate_hz: float, burst: int) -> None:
        self._rate_hz = rate_hz
        self._burst = float(burst)
        self._tokens = float(burst)
        self._steady = 0.0

    def allows(self, steady: float) -> bool:
        """Whether one more may pass at steady time `steady`, s."""
        self._tokens = min(self._burst, self._tokens + (steady - self._steady) * self._rate_hz)
        self._steady = steady
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


class Inbox:
    """Commands of one topic as serialized bytes."""

    def __init__(self, config: Input) -> None:
        self._config = config
        self._rate = RateLimit(config.max_rate_hz, config.burst)
        self._answers = RateLimit(config.max_rate_hz, config.burst)

    def open(self, raw: bytes, steady: float) -> JointTrajectory | None:
        """Decode a command; raises Refused with the reason. None: too many even to answer."""
        if not self._rate.allows(steady):
            if not self._answers.allows(steady):
                return None
            raise Refused(f"too many commands: at most {self._config.max_rate_hz:.0f} per second")
        if len(raw) > self._config.max_bytes:
            raise Refused(f"the command has {len(raw)} bytes, more than {self._config.max_bytes}")
        return deserialize_message(raw, JointTrajectory)


def peek_goal(raw: bytes) -> str:
    """Read the goal ID (`header.frame_id`) of a serialized JointTrajectory without decoding the rest.

    CDR: 4 bytes of encapsulation, the stamp (4 + 4), the length of the string with its NUL, the string.
    """
    if len(raw) < 16:
        return ""
    (length,) = struct.unpack_from("<I" if raw[1] & 1 else ">I", raw, 12)
    return raw[16 : 16 + max(0, min(length, 200) - 1)].decode(errors="replace")
