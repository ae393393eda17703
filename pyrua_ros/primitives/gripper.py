"""The node `gripper`: finger commands through the gate, and what the fingers measured."""

from __future__ import annotations

import time

from rclpy.node import Node

from pyrua_ros.errors import ClockError, GateError, NoStateError
from pyrua_ros.primitives.gate_link import ANSWER_S, GateLink
from pyrua_ros.primitives.joints import Joints
from pyrua_ros.primitives.runtime import ClockWatch, Runtime
from pyrua_ros.primitives.surroundings import Surroundings
from pyrua_ros.results import Grip
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.wire import names
from pyrua_ros.wire.trajectories import gripper_message

#: At rest: no finger went further than this within the window of ROS time.
REST_M = 0.0003
REST_WINDOW_S = 0.2
#: Fingers may take this long to start.
START_S = 0.8
ARRIVED_M = 0.002
#: Held is what is wider than this, and keeps the fingers at least this far from where they were sent.
HOLDING_M = 0.002
MARGIN_S = 2.0


class Gripper:
    """Implements `robo.GripperPort`. Whether something is held is read from the fingers, never from a server."""

    def __init__(
        self,
        runtime: Runtime,
        node: Node,
        gate: GateLink,
        joints: Joints,
        surroundings: Surroundings,
        profile: RobotProfile,
    ) -> None:
        self._runtime = runtime
        self._gate = gate
        self._joints = joints
        self._surroundings = surroundings
        self._profile = profile.gripper
        self._publisher = gate.publisher(node, names.AGENT_GRIPPER)
        self.commanded_force: float | None = None

    def width(self) -> float:
        """Measured opening, m."""
        return float(self._joints.require(self._joints.fingers).sum())

    def move(self, width: float, force: float | None) -> Grip:
        """Send the fingers to `width`; return when they rest."""
        with self._runtime.moving("move the fingers"):
            self._gate.require_agent()
            start = self.width()
            goal = self._gate.send(self._publisher, gripper_message(width, force))
            self.commanded_force = force
            watch = _Watch(self._runtime, self._gate, self._joints, goal, start, width, self._profile.speed)
            try:
                limit_s = 60.0
                reason = self._runtime.wait(watch.verdict, limit_s) or f"no rest within {limit_s:g} s"
                if watch.interrupted:
                    self._runtime.wait(lambda: self._gate.taken, 0.3)
                if self._gate.taken:
                    self._gate.raise_taken()
            finally:
                self._gate.forget(goal)
            return self._measure(width, force, "" if reason == _RESTS else reason)

    def _measure(self, target: float, force: float | None, reason: str) -> Grip:
        measured = float(self._joints.require(self._joints.fingers, preemptible=False).sum())
        short = measured - target
        holding = force is not None and measured > HOLDING_M and short > HOLDING_M and not reason
        stalled = abs(short) > HOLDING_M
        if stalled and force is None and not reason:
            reason = f"the fingers stopped at {measured:.3f} m on their way to {target:.3f} m"
        self._surroundings.grip(measured if holding else None)
        return Grip(measured, holding, stalled, reason)


_RESTS = "rests"


class _Watch:
    """Decides whether the fingers have come to rest, or why they will not."""

    def __init__(
        self,
        runtime: Runtime,
        gate: GateLink,
        joints: Joints,
        goal: str,
        start: float,
        target: float,
        speed: float,
    ) -> None:
        self._runtime = runtime
        self._gate = gate
        self._joints = joints
        self._goal = goal
        self._start = start
        self._target = target
        self._allowed_s = abs(target - start) / speed + MARGIN_S
        self._sent_s = time.monotonic()
        self._accepted_ros_s: float | None = None
        self._clock = ClockWatch(runtime)
        self.interrupted = False

    def verdict(self) -> str | None:
        """Why the command is over, or None while it goes on; raises when clock, gate or joints fail."""
        steady, ros = time.monotonic(), self._runtime.now()
        standstill = self._clock.standstill()
        if standstill:
            raise ClockError(standstill)
        end = self._gate.ended(self._goal)
        if end is not None and end.event != "done":
            self.interrupted = True
            return f"{end.event}{': ' + end.reason if end.reason else ''}"
        if self._accepted_ros_s is None:
            if not self._gate.events(self._goal):
                if steady - self._sent_s > ANSWER_S:
                    raise GateError(
                        f"the gate neither accepted nor refused the command within {ANSWER_S:g} s"
                    )
                return None
            self._accepted_ros_s = ros
        newest = self._joints.fingers.latest()
        if newest is None or steady - newest.arrived_s > 1.0:
            raise NoStateError("no finger positions for 1.0 s")
        elapsed = ros - self._accepted_ros_s
        width = float(newest.positions.sum())
        travel = self._joints.fingers.travel(REST_WINDOW_S)
        rests = travel is not None and travel < REST_M and elapsed > REST_WINDOW_S
        moved = abs(width - self._start) > 2 * REST_M or elapsed > START_S
        if rests and (abs(width - self._target) <= ARRIVED_M or moved):
            return _RESTS
        if elapsed > self._allowed_s:
            return f"the fingers should rest after {self._allowed_s:.1f} s and still move"
        return None
