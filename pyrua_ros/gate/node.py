"""The gate as a node: every command to the robot passes here."""

from __future__ import annotations

import argparse
import signal
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from numpy.typing import NDArray
from pydantic import ValidationError
from rclpy.clock import Clock, ClockType  # type: ignore[attr-defined]
from rclpy.event_handler import QoSLivelinessChangedInfo, SubscriptionEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from pyrua_ros.gate import config as gate_config
from pyrua_ros.gate import measured as joint_states
from pyrua_ros.gate.callers import AgentProcesses
from pyrua_ros.gate.collisions import PathChecker
from pyrua_ros.gate.config import GateConfig
from pyrua_ros.gate.core import Device, Event, Gate, Source
from pyrua_ros.gate.exclusive import ExclusiveTopics
from pyrua_ros.gate.inbox import Inbox, peek_goal
from pyrua_ros.gate.latch import Latch
from pyrua_ros.gate.limits import LimitChecker, Refused
from pyrua_ros.gate.measured import Measured
from pyrua_ros.gate.outlet import Outlet
from pyrua_ros.gate.progress import Now
from pyrua_ros.gate.stop_socket import StopServer, StopSocketError
from pyrua_ros.gate.worker import CheckWorker
from pyrua_ros.robot_model import profile as robot_profile
from pyrua_ros.robot_model.assets import AssetError
from pyrua_ros.robot_model.brake import brake
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.profile import ConfigError, RobotProfile
from pyrua_ros.robot_model.trajectory import Trajectory
from pyrua_ros.wire import names, qos, trajectories
from pyrua_ros.wire.gate import Approval, GateEvent, GateState, Mode

_TICK_S = 0.02
_STATE_S = 0.5

#: Who may send commands, and where.
_INPUTS: tuple[tuple[Source, Device, str], ...] = (
    ("agent", "arm", names.AGENT_TRAJECTORY),
    ("agent", "gripper", names.AGENT_GRIPPER),
    ("operator", "arm", names.OPERATOR_TRAJECTORY),
    ("operator", "gripper", names.OPERATOR_GRIPPER),
)


class StartError(Exception):
    """The gate cannot start; the message is one line that says why."""


class GateNode:
    """Topics and services around `Gate`."""

    def __init__(self, node: Node, profile: RobotProfile, config: GateConfig) -> None:
        self._node = node
        self._profile = profile
        self._config = config
        self._log = node.get_logger()
        self._sim_time = node.get_parameter("use_sim_time").value
        self._boot_id = uuid.uuid4().hex[:12]
        run_dir: str = node.declare_parameter("run_dir", "").value
        socket: str = node.declare_parameter("socket", "").value
        approve = self._approval_mode(node.declare_parameter("approve", "none").value)
        start_stopped: bool = node.declare_parameter("start_stopped", False).value

        began = time.monotonic()
        model = RobotModel(profile)

        def eef_position(q: NDArray[np.float64]) -> NDArray[np.float64]:
            return model.link_pose(q, profile.arm.eef_link)[:3, 3]

        topics = (profile.arm.command_topic, profile.gripper.command_topic)
        self._exclusive = ExclusiveTopics(node, topics)
        self._refuse(self._exclusive.settle(began + config.discovery_s))
        # Discovery may be slower than that on a busy machine; until then an intruder was there before us.
        self._settled = began + 5 * config.discovery_s
        self._arm_out = node.create_publisher(JointTrajectory, profile.arm.command_topic, qos.COMMAND_OFFERED)
        self._gripper_out = node.create_publisher(
            JointTrajectory, profile.gripper.command_topic, qos.COMMAND_OFFERED
        )
        self._refuse(self._exclusive.claim())
        self._events_out = node.create_publisher(String, names.GATE_EVENTS, qos.EVENTS)
        self._state_out = node.create_publisher(DiagnosticStatus, names.GATE_STATE, qos.LATCHED)
        self._stated: tuple[Mode, str, bool] | None = None

        self._outlet = Outlet(
            ros_time=lambda: self._now().ros,
            brake=partial(brake, profile.arm.limits, profile.arm.joints),
            send=self._send_arm,
            latency_s=config.start.latency_s,
        )
        # Before the worker's first answer.
        self._wake = node.create_guard_condition(self._tick)
        agent_topics = (names.AGENT_TRAJECTORY, names.AGENT_GRIPPER)
        separate: bool = node.declare_parameter("separate_agent", False).value
        self._agents = AgentProcesses(node, agent_topics if separate else ())
        self._worker = CheckWorker(PathChecker(profile, config.collision).check, self._wake.trigger)
        self._gate = Gate(
            profile,
            config,
            LimitChecker(profile, config.limits, eef_position),
            self._outlet,
            self._now,
            send_gripper=lambda width, force, goal: self._gripper_out.publish(
                trajectories.gripper_message(width, force, goal)
            ),
            emit=self._publish_event,
            paths=PathChecker(profile, config.collision),
            worker=self._worker,
            approval=approve == "motion",
        )
        self._latch = self._open_latch(run_dir, start_stopped)
        self._raw_state: tuple[bytes, float] | None = None
        self._measured: Measured | None = None
        self._state_problem = ""

        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_subscription(JointState, names.JOINT_STATES, self._on_joint_state, qos.SENSOR, raw=True)
        for source, device, topic in _INPUTS:
            self._listen(source, device, topic)
        node.create_service(Trigger, names.GATE_HOLD, self._on_hold)
        node.create_service(Trigger, names.GATE_STOP, self._on_stop)
        node.create_service(Trigger, names.GATE_RESUME, self._on_resume)
        node.create_service(Trigger, names.GATE_TAKE_OVER, self._on_take_over)
        node.create_service(Trigger, names.GATE_HAND_BACK, self._on_hand_back)
        node.create_subscription(String, names.AGENT_APPROVE, self._on_approve, qos.EVENTS)
        node.create_timer(_TICK_S, self._tick, clock=steady)
        node.create_timer(_STATE_S, self._look_around, clock=steady)
        self._socket = self._serve_stop(socket)
        self._publish_state()

    def close(self, executor: SingleThreadedExecutor) -> None:
        """Brake if something moves, wait until it rests, and let go."""
        self._gate.closing = True
        self._gate.hold("the gate is shutting down")
        deadline = time.monotonic() + self._config.shutdown_s
        while self._gate.moving and time.monotonic() < deadline:
            executor.spin_once(timeout_sec=0.05)
        if self._socket is not None:
            self._socket.close()
        self._worker.close()

    def hold(self, reason: str) -> None:
        """Brake; for trouble in this process."""
        self._gate.hold(reason)

    def _now(self) -> Now:
        steady = time.monotonic()
        # Without /clock, ROS time is the system clock, which may be set: the steady clock has the same rate.
        ros = self._node.get_clock().now().nanoseconds * 1e-9 if self._sim_time else steady
        return Now(ros, steady)

    @staticmethod
    def _approval_mode(value: str) -> str:
        if value not in ("none", "motion", "every"):
            raise StartError(f"approve is '{value}'; it can be: none, motion, every")
        return value

    @staticmethod
    def _refuse(intruder: str) -> None:
        if intruder:
            raise StartError(f"{intruder}, or use another ROS_DOMAIN_ID")

    def _check_intruder(self) -> None:
        intruder = self._exclusive.intruder()
        if time.monotonic() < self._settled:
            self._refuse(intruder)
        elif intruder and not self._outlet.stopped:
            self._stop(intruder)

    def _open_latch(self, run_dir: str, start_stopped: bool) -> Latch | None:
        latch = None
        if run_dir:
            try:
                latch = Latch(Path(run_dir) / "gate")
            except OSError as error:
                raise StartError(f"run_dir {run_dir} cannot hold the stop latch: {error}") from None
        else:
            self._log.warning("no run_dir: a stop will not survive a restart of the gate")
        why = latch.read() if latch is not None else None
        if why is not None:
            self._outlet.stop(f"stopped before this start: {why}")
        elif start_stopped:
            self._outlet.stop("the gate was restarted")
        if self._outlet.stopped:
            self._log.warning(f"starting stopped: {self._outlet.why}; call {names.GATE_RESUME} to go on")
        return latch

    def _serve_stop(self, path: str) -> StopServer | None:
        if not path:
            self._log.warning("no socket: `pyrua stop` cannot reach this gate without ROS")
            return None
        try:
            return StopServer(path, self._stop)
        except (StopSocketError, OSError) as error:
            raise StartError(str(error)) from None

    def _listen(self, source: Source, device: Device, topic: str) -> None:
        inbox = Inbox(self._config.input)

        def on_command(raw: bytes, info: Mapping[str, Any]) -> None:
            if source == "operator" and self._agents.sent(info):
                reason = "the agent's own process may not act as the operator"
                self._gate.refuse(source, device, peek_goal(raw), reason)
                return
            self._on_command(source, device, inbox, raw)

        def on_liveliness(info: QoSLivelinessChangedInfo) -> None:
            if info.alive_count_change < 0:
                self._gate.source_lost(source)

        self._node.create_subscription(
            JointTrajectory,
            topic,
            on_command,
            qos.COMMAND_REQUESTED,
            event_callbacks=SubscriptionEventCallbacks(liveliness=on_liveliness),
            raw=True,
        )

    def _on_command(self, source: Source, device: Device, inbox: Inbox, raw: bytes) -> None:
        try:
            message = inbox.open(raw, time.monotonic())
            if message is None:
                return
            self._read_state()
            goal = message.header.frame_id
            if device == "arm":
                trajectory = trajectories.from_message(message)
                begin = self._begin(message)
                self._gate.on_trajectory(source, goal, trajectory, self._unheard(self._arm_out), begin)
            else:
                width, force = trajectories.read_gripper(message)
                self._gate.on_gripper(source, goal, width, force, self._unheard(self._gripper_out))
        except (Refused, ValueError) as refusal:
            self._gate.refuse(source, device, peek_goal(raw), str(refusal))

    def _send_arm(self, trajectory: Trajectory, goal: str, start: float | None) -> None:
        # Without /clock the gate counts on the steady clock, which the robot does not know.
        stamp = start if self._sim_time else None
        self._arm_out.publish(trajectories.to_message(trajectory, goal, stamp))

    def _begin(self, message: JointTrajectory) -> float | None:
        """Moment of the first point on the gate's clock, s; None without a stamp."""
        stamp = message.header.stamp
        if stamp.sec == 0 and stamp.nanosec == 0:
            return None
        ahead: float = stamp.sec + stamp.nanosec * 1e-9 - self._node.get_clock().now().nanoseconds * 1e-9
        return self._now().ros + ahead

    def _unheard(self, publisher: Publisher[JointTrajectory]) -> str:
        if publisher.get_subscription_count() > 0:
            return ""
        return f"no robot listens on {publisher.topic_name}: is the robot's node running?"

    def _on_joint_state(self, raw: bytes) -> None:
        self._raw_state = (raw, time.monotonic())

    def _read_state(self) -> None:
        """Decode the newest joint states, if there are new ones."""
        if self._raw_state is None:
            return
        (raw, steady), self._raw_state = self._raw_state, None
        message = deserialize_message(raw, JointState)
        try:
            self._measured = joint_states.read(
                self._profile, message.name, message.position, message.velocity, steady, self._measured
            )
            self._gate.on_measured(self._measured)
            problem = ""
        except ValueError as error:
            problem = str(error)
        if problem and problem != self._state_problem:
            self._log.error(problem)
        self._state_problem = problem

    def _tick(self) -> None:
        self._read_state()
        self._gate.tick()
        if self._state() != self._stated:
            self._publish_state()

    def _look_around(self) -> None:
        self._publish_state()
        self._check_intruder()

    def _state(self) -> tuple[Mode, str, bool]:
        """Mode, why, and whether something moves; what the gate still waits for comes first."""
        why = self._gate.why
        if self._gate.waiting:
            why = f"goal {self._gate.waiting} waits for approval"
        if self._gate.mode != "stopped":
            if self._measured is None:
                why = f"not ready: {self._state_problem or 'no joint_states yet'}"
            elif unheard := self._unheard(self._arm_out):
                why = f"not ready: {unheard}"
        return self._gate.mode, why, self._gate.moving

    def _publish_state(self) -> None:
        self._stated = mode, why, moving = self._state()
        stamp = self._node.get_clock().now().nanoseconds * 1e-9
        state = GateState(
            mode=mode,
            why=why,
            who=self._gate.who,
            moving=moving,
            waiting=self._gate.waiting,
            boot_id=self._boot_id,
            stamp=stamp,
        )
        self._state_out.publish(state.to_message())

    def _publish_event(self, event: Event) -> None:
        shown = GateEvent(
            goal=event.goal, event=event.event, reason=event.reason, source=event.source, device=event.device
        )
        self._events_out.publish(String(data=shown.model_dump_json()))
        line = f"{event.device} {event.goal or '(no goal)'} {event.event}"
        self._log.info(f"{line}: {event.reason}" if event.reason else line)

    def _on_hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._gate.hold("hold was requested")
        response.success, response.message = True, "held"
        return response

    def _on_take_over(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._gate.take_over("an operator")
        self._publish_state()
        response.success, response.message = True, self._gate.mode
        return response

    def _on_hand_back(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._gate.hand_back("an operator")
        self._publish_state()
        response.success, response.message = True, self._gate.mode
        return response

    def _on_approve(self, message: String, info: Mapping[str, Any]) -> None:
        if self._agents.sent(info):
            self._log.error(
                f"ignored an approval on {names.AGENT_APPROVE}: it comes from the agent's own process"
            )
            return
        try:
            answer = Approval.model_validate_json(message.data)
        except ValidationError as error:
            self._log.error(f"unreadable {names.AGENT_APPROVE}: {' '.join(str(error).split())}")
            return
        self._read_state()
        self._log.info(f"approval: {self._gate.approve(answer.id, answer.approve, answer.comment)}")

    def _on_stop(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = True, self._stop("the stop service was called")
        return response

    def _on_resume(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = self._resume()
        return response

    def _stop(self, reason: str) -> str:
        """Stop; from any thread. The brake goes out first, then the latch to the disk, then the answer."""
        trouble = ""
        try:
            self._gate.stop(reason)
        finally:
            try:
                if self._latch is not None:
                    self._latch.write(reason)
            except OSError as error:
                trouble = f", but this will not survive a restart of the gate: {error}"
            self._wake.trigger()
        return f"stopped{trouble}"

    def _resume(self) -> tuple[bool, str]:
        """Lift the stop that was in force when this began; moves nothing."""
        stops = self._outlet.stops
        if not self._outlet.stopped:
            return True, "was not stopped"
        self._gate.tick()
        try:
            cleared = self._latch is None or self._latch.clear(lambda: self._outlet.stops == stops)
        except OSError as error:
            return False, f"still stopped: the stop latch cannot be removed: {error}"
        if not (cleared and self._outlet.resume(stops)):
            return False, f"still stopped: {self._outlet.why}"
        self._log.info("resumed")
        self._publish_state()
        return True, "resumed"


def _spin(
    executor: SingleThreadedExecutor, gate: GateNode, wanted: Callable[[], bool], log: Callable[[str], object]
) -> None:
    while wanted():
        try:
            executor.spin_once(timeout_sec=0.1)
        except StartError:
            raise
        except Exception as error:  # noqa: BLE001
            # One bad callback must not leave the robot without its gate.
            log(f"{type(error).__name__}: {error}")
            gate.hold(f"trouble in the gate: {error}")


def main(args: list[str] | None = None) -> int:
    """Run the gate until SIGINT or SIGTERM."""
    arguments = sys.argv if args is None else ["gate", *args]
    argparse.ArgumentParser(prog="gate", description=__doc__).parse_args(remove_ros_args(arguments)[1:])
    wanted = True

    def end(*_: object) -> None:
        nonlocal wanted
        wanted = False

    # A stop must not wait for a long turn of the worker's thread.
    sys.setswitchinterval(0.001)
    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("gate", start_parameter_services=False)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        profile = robot_profile.load(node.declare_parameter("robot", "fr3").value)
        gate = GateNode(node, profile, gate_config.load(node.declare_parameter("config", "").value))
        _spin(executor, gate, lambda: wanted, node.get_logger().error)
        gate.close(executor)
        return 0
    except (StartError, ConfigError, AssetError) as error:
        print(f"gate: {error}", file=sys.stderr)
        return 1
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    sys.exit(main())
