"""The node `arm`: plan, send to the gate, follow, and return at rest with what was measured."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node

from pyrua_ros.errors import GateError, RobotError
from pyrua_ros.motion.goals import JointGoal, PoseGoal, admissible_start
from pyrua_ros.motion.planner import MotionPlanner, PlanFailure
from pyrua_ros.primitives.body import Body
from pyrua_ros.primitives.gate_link import ANSWER_S, GateLink
from pyrua_ros.primitives.joints import Joints
from pyrua_ros.primitives.runtime import ClockWatch, Runtime
from pyrua_ros.primitives.surroundings import Surroundings
from pyrua_ros.results import Move, State
from pyrua_ros.robot_model import rotations
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.trajectory import Trajectory
from pyrua_ros.wire import names, trajectories

FloatArray = NDArray[np.float64]

#: `reached` means: measured within these of the target.
REACHED_M = 0.005
REACHED_RAD = 0.035
#: At rest: no joint went further than this within the last 0.1 s of ROS time.
REST_RAD = 1e-3
REST_WINDOW_S = 0.1
REST_PATIENCE_S = 2.0
#: Standing still for this long (steady clock) where the trajectory moves on ends a motion.
STANDSTILL_S = 1.0
STANDSTILL_RAD = 1e-3
EXPECTED_RAD = 1e-2


class Arm:
    """Implements `robo.ArmPort`."""

    def __init__(
        self,
        runtime: Runtime,
        node: Node,
        gate: GateLink,
        joints: Joints,
        body: Body,
        planner: MotionPlanner,
        surroundings: Surroundings,
        profile: RobotProfile,
    ) -> None:
        self._runtime = runtime
        self._gate = gate
        self._joints = joints
        self._body = body
        self._planner = planner
        self._surroundings = surroundings
        self._profile = profile
        self._publisher = gate.publisher(node, names.AGENT_TRAJECTORY)

    def state(self) -> State:
        """Measured state; raises NoStateError."""
        q = self._joints.require(self._joints.arm)
        fingers = self._joints.require(self._joints.fingers)
        position, quat = self._body.eef(q)
        return State(
            eef_pos=position,
            eef_quat=quat,
            joints=q,
            gripper_width=float(fingers.sum()),
            moving=not self._at_rest(),
            mode=self._gate.mode,
        )

    def move(self, goal: JointGoal | PoseGoal, speed: float) -> Move:
        """Plan from the measured state and execute."""
        with self._runtime.moving("move the arm"):
            self._gate.require_agent()
            start = self._start()
            width = float(self._joints.require(self._joints.fingers).sum())
            scene = self._surroundings.scene(start, width)
            plan = self._planner.plan(goal, start, speed=speed, scene=scene)
            if isinstance(plan, PlanFailure):
                return self._measure(goal, "no_plan", plan.reason, 0.0)
            return self.execute(plan, goal)

    def _start(self) -> FloatArray:
        self._joints.require(self._joints.arm)
        if not self._runtime.wait(self._at_rest, REST_PATIENCE_S):
            raise RobotError(
                "the arm is moving by itself, so no motion can start; is somebody else commanding it?"
            )
        q = self._joints.require(self._joints.arm)
        try:
            return admissible_start(q, self._profile)
        except ValueError as error:
            raise RobotError(str(error)) from None

    def _at_rest(self) -> bool:
        travel = self._joints.arm.travel(REST_WINDOW_S)
        return travel is not None and travel < REST_RAD

    def execute(self, trajectory: Trajectory, goal: JointGoal | PoseGoal) -> Move:
        """Send a trajectory to the gate and follow it to its end; the caller holds the right to move."""
        goal_id = self._gate.send(self._publisher, trajectories.to_message(trajectory))
        started_s = self._runtime.now()
        watch = _Watch(self._runtime, self._gate, self._joints, trajectory, goal_id)
        try:
            limit_s = 60.0 + 20 * trajectory.duration
            verdict = self._runtime.wait(watch.verdict, limit_s)
            while verdict is None and watch.waiting:
                verdict = self._runtime.wait(watch.verdict, limit_s)
            status, reason = verdict or ("timeout", f"no end within {limit_s:.0f} s")
            if status == "preempted":
                self._runtime.wait(lambda: self._gate.taken, 0.3)
                status = "held"
            if self._gate.taken:
                self._gate.raise_taken()
            if status != "done":
                reason = "; ".join(filter(None, [reason, self._brake()]))
            else:
                self._runtime.wait(self._at_rest, REST_PATIENCE_S)
            if status == "unanswered":
                raise GateError(reason)
        except KeyboardInterrupt:
            self._gate.request_hold()
            raise
        except BaseException:
            if not self._gate.taken:
                self._brake()
            raise
        finally:
            self._gate.forget(goal_id)
        return self._measure(goal, status, reason, self._runtime.now() - started_s)

    def _brake(self) -> str:
        """Hold, and see the joints come to rest; returns what went wrong with that."""
        fault = self._gate.hold()
        if not self._runtime.wait(self._at_rest, REST_PATIENCE_S, preemptible=False):
            age = self._joints.arm.latest()
            silent = age is None or time.monotonic() - age.arrived_s > 0.5
            fault = "; ".join(
                filter(None, [fault, "joint states are silent" if silent else "the arm still moves"])
            )
        return fault

    def _measure(self, goal: JointGoal | PoseGoal, status: str, reason: str, seconds: float) -> Move:
        q = self._joints.require(self._joints.arm, preemptible=False)
        position, quat = self._body.eef(q)
        if isinstance(goal, JointGoal):
            target, target_quat = self._body.eef(np.asarray(goal.q))
        else:
            target, target_quat = np.asarray(goal.xyz, float), np.asarray(goal.quat, float)
        distance = float(np.linalg.norm(position - target))
        angle = rotations.angle_between(quat, target_quat)
        near = distance <= REACHED_M and angle <= REACHED_RAD
        if isinstance(goal, JointGoal):
            near = near and float(np.max(np.abs(q - goal.q))) <= REACHED_RAD
        if status == "done" and not near:
            status = "stalled"
            reason = f"the motion ended {distance * 1000:.0f} mm and {angle:.2f} rad away from the target"
        return Move(near and status == "done", status, reason, position, distance, angle, seconds)


class _Watch:
    """Decides, again and again, whether a motion has ended, and why."""

    def __init__(
        self, runtime: Runtime, gate: GateLink, joints: Joints, trajectory: Trajectory, goal: str
    ) -> None:
        self._runtime = runtime
        self._gate = gate
        self._joints = joints
        self._trajectory = trajectory
        self._goal = goal
        self._sent_s = time.monotonic()
        self._accepted_ros_s: float | None = None
        self._accepted_s = 0.0
        self._clock = ClockWatch(runtime)

    @property
    def waiting(self) -> bool:
        """Whether a person is being asked; that may take as long as it takes."""
        events = self._gate.events(self._goal)
        return bool(events) and events[-1].event == "waiting"

    def verdict(self) -> tuple[str, str] | None:
        """Status and reason, or None while the motion goes on as it should."""
        steady, ros = time.monotonic(), self._runtime.now()
        end = self._gate.ended(self._goal)
        if end is not None:
            return end.event, end.reason
        if self.waiting and self._gate.mode != "unknown":
            self._clock.restart()
            return None
        standstill = self._clock.standstill()
        if standstill:
            return "clock", standstill
        if self._accepted_ros_s is None:
            if not self._gate.events(self._goal):
                if steady - self._sent_s > ANSWER_S:
                    return (
                        "unanswered",
                        f"the gate neither accepted nor refused the motion within {ANSWER_S:g} s",
                    )
                return None
            self._accepted_ros_s, self._accepted_s = ros, steady
        return self._progress(steady, ros - self._accepted_ros_s)

    def _progress(self, steady: float, elapsed: float) -> tuple[str, str] | None:
        duration = self._trajectory.duration
        newest = self._joints.arm.latest()
        if newest is None or steady - newest.arrived_s > STANDSTILL_S:
            return "stalled", f"no joint states for {STANDSTILL_S:g} s"
        if steady - self._accepted_s > STANDSTILL_S:
            travel = self._joints.arm.travel(STANDSTILL_S, steady=True)
            before = self._trajectory.sample(max(elapsed - STANDSTILL_S, 0.0)).position
            expected = float(np.max(np.abs(self._trajectory.sample(elapsed).position - before)))
            if travel is not None and travel < STANDSTILL_RAD and expected > EXPECTED_RAD:
                return (
                    "stalled",
                    f"the joints stood still for {STANDSTILL_S:g} s, {elapsed:.1f} s into a {duration:.1f} s motion",
                )
        margin = 1.0 + 0.2 * duration
        if elapsed > duration + margin:
            return (
                "timeout",
                f"the motion should have taken {duration:.1f} s and has not ended after {elapsed:.1f} s",
            )
        return None
