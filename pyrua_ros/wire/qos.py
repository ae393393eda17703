"""Quality of service, in one place."""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy

# The heartbeat of every command publisher. A process that is killed or frozen loses it within the lease.
COMMAND_LEASE_OFFERED_S = 0.2
COMMAND_LEASE_REQUESTED_S = 0.3

#: Joint states and images: the newest matters, a lost one does not; matches reliable publishers too.
SENSOR = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST)

#: Events that nobody may miss.
EVENTS = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST)

#: The last value stays for late subscribers.
LATCHED = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
    history=HistoryPolicy.KEEP_LAST,
)


def _command(lease_s: float) -> QoSProfile:
    return QoSProfile(
        depth=1,
        reliability=ReliabilityPolicy.RELIABLE,
        history=HistoryPolicy.KEEP_LAST,
        liveliness=LivelinessPolicy.AUTOMATIC,
        liveliness_lease_duration=Duration(seconds=lease_s),
    )


#: For publishers of commands.
COMMAND_OFFERED = _command(COMMAND_LEASE_OFFERED_S)

#: For subscribers of commands; pair it with a liveliness callback.
COMMAND_REQUESTED = _command(COMMAND_LEASE_REQUESTED_S)
