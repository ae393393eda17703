"""Joint states mapped by name: the newest, their recent history, and whether they are at rest."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState

from pyrua_ros.errors import ClockError, NoStateError
from pyrua_ros.primitives.runtime import Runtime
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.wire import names, qos

FloatArray = NDArray[np.float64]

#: Joint states older than this (steady clock) do not say where the robot is.
FRESH_S = 0.5
#: How long a primitive waits for a fresh one before it gives up.
PATIENCE_S = 2.0
#: The first one may have to wait for discovery, which repeats itself every 3 s.
FIRST_PATIENCE_S = 6.0
#: A stamp further than this from our ROS time comes from another clock.
CLOCK_SKEW_S = 2.0
_HISTORY = 1000


@dataclass(frozen=True)
class JointReading:
    """Positions ``[joints]`` at one moment: `stamp_ns` on ROS time, `arrived_s` on the steady clock."""

    stamp_ns: int
    arrived_s: float
    positions: FloatArray


class Track:
    """Recent readings of one group of joints, in the order of the group."""

    def __init__(self, joints: tuple[str, ...]) -> None:
        self.joints = joints
        self._seen: dict[str, float] = {}
        self._readings: deque[JointReading] = deque(maxlen=_HISTORY)

    def add(self, by_name: dict[str, float], stamp_ns: int) -> None:
        """Take what a message says about this group; sources that each know a part are merged."""
        mine = {joint: by_name[joint] for joint in self.joints if joint in by_name}
        self._seen.update(mine)
        if mine and len(self._seen) == len(self.joints):
            positions = np.array([self._seen[joint] for joint in self.joints])
            self._readings.append(JointReading(stamp_ns, time.monotonic(), positions))

    @property
    def missing(self) -> list[str]:
        """Joints that no message has named yet."""
        return [joint for joint in self.joints if joint not in self._seen]

    def latest(self) -> JointReading | None:
        """Return the newest reading."""
        return self._readings[-1] if self._readings else None

    def fresh(self) -> JointReading | None:
        """Return the newest reading, if it is recent."""
        newest = self.latest()
        return newest if newest is not None and time.monotonic() - newest.arrived_s <= FRESH_S else None

    def at(self, stamp_ns: int) -> FloatArray | None:
        """Positions at a ROS time: interpolated in the history, the nearest reading outside of it."""
        readings = list(self._readings)
        if not readings:
            return None
        stamps = [reading.stamp_ns for reading in readings]
        i = int(np.searchsorted(stamps, stamp_ns))
        if i == 0 or i == len(readings):
            return readings[min(i, len(readings) - 1)].positions
        before, after = readings[i - 1], readings[i]
        part = (stamp_ns - before.stamp_ns) / max(after.stamp_ns - before.stamp_ns, 1)
        return before.positions + part * (after.positions - before.positions)

    def travel(self, window_s: float, *, steady: bool = False) -> float | None:
        """How far any joint went within the last `window_s` s (of stamps, or of steady time).

        None when the history does not reach back that far.
        """
        readings = list(self._readings)
        if not readings:
            return None
        ages = (
            [time.monotonic() - r.arrived_s for r in readings]
            if steady
            else [(readings[-1].stamp_ns - r.stamp_ns) * 1e-9 for r in readings]
        )
        if ages[0] < window_s:
            return None
        recent = [r.positions for r, age in zip(readings, ages, strict=True) if age <= window_s]
        if not recent:
            return 0.0
        return float(np.max(np.ptp(np.array(recent), axis=0)))


class Joints:
    """Subscription to `joint_states` for arm and fingers."""

    def __init__(self, runtime: Runtime, node: Node, profile: RobotProfile) -> None:
        self._runtime = runtime
        self.arm = Track(profile.arm.joints)
        self.fingers = Track(profile.gripper.joints)
        self._topic = node.resolve_topic_name(names.JOINT_STATES)
        self._node = node
        node.create_subscription(JointState, names.JOINT_STATES, self._on_message, qos.SENSOR)

    def _on_message(self, message: JointState) -> None:
        if len(message.position) < len(message.name):
            return
        by_name = dict(zip(message.name, message.position, strict=False))
        stamp = message.header.stamp
        stamp_ns = stamp.sec * 10**9 + stamp.nanosec or self._runtime.now_ns()
        with self._runtime.changed:
            self.arm.add(by_name, stamp_ns)
            self.fingers.add(by_name, stamp_ns)
            self._runtime.changed.notify_all()

    def require(self, track: Track, *, preemptible: bool = True) -> FloatArray:
        """Fresh positions of a group; raises NoStateError or ClockError that says what is wrong."""
        reading = track.fresh()
        if reading is None:
            started_ns = self._runtime.now_ns()
            patience_s = FIRST_PATIENCE_S if track.latest() is None else PATIENCE_S
            reading = self._runtime.wait(track.fresh, patience_s, preemptible=preemptible)
            if reading is None:
                raise self._explain(track, started_ns)
        if abs(self._skew_s(reading)) > CLOCK_SKEW_S:
            # The clock of a process that has just started may come a moment later than the joint states.
            agreed = self._runtime.wait(
                lambda: self._agreed(track), FIRST_PATIENCE_S, preemptible=preemptible
            )
            if agreed is None:
                raise self._two_clocks(self._skew_s(track.latest() or reading))
            reading = agreed
        return reading.positions

    def _skew_s(self, reading: JointReading) -> float:
        return (self._runtime.now_ns() - reading.stamp_ns) * 1e-9

    def _agreed(self, track: Track) -> JointReading | None:
        reading = track.fresh()
        return reading if reading is not None and abs(self._skew_s(reading)) <= CLOCK_SKEW_S else None

    def _two_clocks(self, skew: float) -> ClockError:
        return ClockError(
            f"{self._topic} is stamped {abs(skew):.1f} s {'behind' if skew > 0 else 'ahead of'} this process's ROS time "
            f"(use_sim_time is {self._runtime.use_sim_time} here): robot and agent run on different clocks"
        )

    def _explain(self, track: Track, started_ns: int) -> Exception:
        if self._runtime.use_sim_time and self._runtime.now_ns() == started_ns:
            return ClockError(
                f"ROS time stands still at {started_ns * 1e-9:.3f} s and no {self._topic} arrive: /clock is paused or "
                "nobody publishes it; start or resume the simulator"
            )
        if self._node.count_publishers(self._topic) == 0:
            return NoStateError(
                f"no joint states: topic {self._topic} has 0 publishers; is the robot process running?"
            )
        newest = track.latest()
        if newest is not None:
            age = time.monotonic() - newest.arrived_s
            return NoStateError(f"joint states stopped: the newest on {self._topic} is {age:.1f} s old")
        if track.missing:
            return NoStateError(f"joint states on {self._topic} lack {', '.join(track.missing)}")
        return NoStateError(f"no joint states on {self._topic} within {FIRST_PATIENCE_S:g} s")
