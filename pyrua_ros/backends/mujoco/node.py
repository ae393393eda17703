"""Node `mujoco`: the simulated robot on the same topics as a real one."""

from __future__ import annotations

import os

# Before mujoco is imported: it must not look for a display itself, the render thread does (rendering.py).
os.environ["MUJOCO_GL"] = "disable"

import argparse
import secrets
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import rclpy
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.event_handler import QoSLivelinessChangedInfo, SubscriptionEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from pyrua_ros.backends.mujoco import predicates, scenes
from pyrua_ros.backends.mujoco.camera_publisher import CameraPublisher
from pyrua_ros.backends.mujoco.control import ControlServer
from pyrua_ros.backends.mujoco.gate_only import GateOnly
from pyrua_ros.backends.mujoco.simulation import Simulation
from pyrua_ros.backends.mujoco.world import RobotState, World
from pyrua_ros.robot_model import profile as robot_profile
from pyrua_ros.robot_model.assets import AssetError
from pyrua_ros.robot_model.profile import ConfigError, RobotProfile
from pyrua_ros.wire import config, names, trajectories
from pyrua_ros.wire.qos import COMMAND_REQUESTED

_GATE_LOOK_S = 0.2
_CLOCK_EVERY_S = 0.004
_HIDDEN = (b"--seed", b"--task-id")
# Reliable, so that both kinds of subscribers match; the newest state replaces an unsent one.
_STATES = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST)


class MujocoNode(Node):
    """Commands in, joint states, clock and images out; the physics has a thread of its own.

    Nothing on the graph tells where objects are: no parameter services, and the score goes over `control`.
    """

    def __init__(
        self,
        profile: RobotProfile,
        scene: scenes.Scene,
        cameras: Sequence[config.Camera],
        *,
        seed: int,
        rtf: float,
        render: bool,
        control: socket.socket | None = None,
    ) -> None:
        super().__init__("mujoco", start_parameter_services=False)
        self.failure: Exception | None = None
        self._arm_names = profile.arm.joints
        self.world = World(profile, scene, seed, cameras)
        self.simulation = Simulation(self.world, rtf, self._publish_state, self._fail)
        self._states = self.create_publisher(JointState, names.JOINT_STATES, _STATES)
        self._clock_publisher = self.create_publisher(Clock, "/clock", _STATES)
        self._gate_only = {
            topic: GateOnly(self, topic)
            for topic in (profile.arm.command_topic, profile.gripper.command_topic)
        }
        self._subscribe(profile.arm.command_topic, self._on_arm)
        self._subscribe(profile.gripper.command_topic, self._on_gripper)
        self.create_timer(_GATE_LOOK_S, self._look_for_gate)
        self._cameras = CameraPublisher(self, self.simulation, cameras) if render else None
        self._control = control
        self._control_server: ControlServer | None = None

    def start(self) -> None:
        """Begin to simulate, and to serve what was asked for."""
        if self._cameras is not None and not self._cameras.start():
            self.get_logger().error(f"no camera images: {self._cameras.error}")
            self._cameras = None
        if self._control is not None:
            handlers = {
                "score": self._score,
                "truth": self._truth,
                "stats": self._statistics,
                "record": self._record,
            }
            self._control_server = ControlServer(self._control, handlers)
        self.simulation.start()
        pace = f"at {self.simulation.rtf:g} x wall speed" if self.simulation.paced else "as fast as it can"
        images = "with cameras" if self._cameras is not None else "without cameras"
        self.get_logger().info(f"scene '{self.world.scene.name}' is ready, {pace}, {images}")

    def stop(self) -> None:
        """End the threads."""
        if self._cameras is not None:
            self._cameras.stop()
        self.simulation.stop()
        if self._control_server is not None:
            self._control_server.close()

    def _subscribe(self, topic: str, callback: Any) -> None:
        def received(message: JointTrajectory, info: Mapping[str, Any]) -> None:
            if not self._gate_only[topic].allows(info):
                return
            try:
                callback(message)
            except ValueError as error:
                self.get_logger().error(f"rejected a command on {topic}: {error}")

        def liveliness(event: QoSLivelinessChangedInfo) -> None:
            if event.alive_count_change < 0:
                self._hold(topic)

        self.create_subscription(
            JointTrajectory,
            topic,
            received,
            COMMAND_REQUESTED,
            event_callbacks=SubscriptionEventCallbacks(liveliness=liveliness),
        )

    def _on_arm(self, message: JointTrajectory) -> None:
        stamp = message.header.stamp
        start = stamp.sec + stamp.nanosec * 1e-9 if stamp.sec or stamp.nanosec else None
        trajectory = trajectories.from_message(message)
        with self.simulation.lock:
            self.world.arm.command(trajectory, self.world.time, start)

    def _on_gripper(self, message: JointTrajectory) -> None:
        width, force = trajectories.read_gripper(message)
        with self.simulation.lock:
            self.world.gripper.command(width, force)

    def _hold(self, topic: str) -> None:
        with self.simulation.lock:
            moving = self.world.arm.moving
            self.world.arm.hold(self.world.time)
        if moving:
            self.get_logger().warning(f"a publisher of {topic} is gone or frozen: braking to a hold")

    def _look_for_gate(self) -> None:
        for guard in self._gate_only.values():
            guard.look()

    def _publish_state(self, state: RobotState, stamp: int) -> None:
        message = JointState(
            name=state.names,
            position=state.position.tolist(),
            velocity=state.velocity.tolist(),
            effort=state.effort.tolist(),
        )
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        self._clock_publisher.publish(Clock(clock=message.header.stamp))
        self._states.publish(message)

    def _fail(self, error: Exception) -> None:
        self.failure = error

    def _score(self) -> dict[str, Any]:
        with self.simulation.lock:
            success, detail = predicates.score(self.world)
        return {"success": success, "detail": detail}

    def _truth(self) -> dict[str, Any]:
        with self.simulation.lock:
            state = self.world.robot_state()
            poses = {name: self.world.body_pose(name) for name in self.world.scene.objects}
        return {
            "time": state.time,
            "joints": dict(zip(state.names, state.position.tolist(), strict=True)),
            "objects": {
                name: {"xyz": xyz.tolist(), "quat": quat.tolist()} for name, (xyz, quat) in poses.items()
            },
        }

    def _statistics(self) -> dict[str, Any]:
        frames, seconds = (
            (0, 0.0) if self._cameras is None else (self._cameras.frames, self._cameras.render_s)
        )
        return {
            "rtf": self.simulation.real_time_factor,
            "sim_time": self.world.time,
            "frames": frames,
            "ms_per_frame": 1e3 * seconds / frames if frames else 0.0,
            "cameras": self._cameras is not None,
        }

    def _record(self) -> dict[str, Any]:
        with self.simulation.lock:
            record: dict[str, Any] = self.world.record.as_dict()
            self.world.record.reset()
        return {"joints": list(self._arm_names), **record}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _exit(f"{message}; usage: {self.format_usage().removeprefix('usage: ').strip()}")


def _exit(message: str) -> NoReturn:
    print(f"mujoco: {message}", file=sys.stderr)
    raise SystemExit(1)


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="mujoco", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--seed", type=int, default=None, help="draws the objects' places; random when not given"
    )
    parser.add_argument("--task-id", default="", help="which task of a scene that has many")
    parser.add_argument("--control-fd", type=int, default=None, help="inherited socket that serves the score")
    return parser.parse_args(argv)


def _parameters() -> dict[str, Any]:
    """Read what ``-p name:=value`` gave, with a node that is gone before anything else starts."""
    node = Node("mujoco", start_parameter_services=False, enable_rosout=False)
    loose = ParameterDescriptor(dynamic_typing=True)
    defaults = {"robot": "fr3", "scene": "cube_bowl", "rtf": 1.0, "render": "auto"}
    try:
        return {name: node.declare_parameter(name, value, loose).value for name, value in defaults.items()}
    finally:
        node.destroy_node()


def _hide_what_is_drawn() -> None:
    """Blank seed and task in this process's command line, which every process of the host may read."""
    import ctypes

    try:
        with open("/proc/self/cmdline", "rb") as file:
            line = file.read()
        with open("/proc/self/stat", "rb") as file:
            start = int(file.read().rpartition(b")")[2].split()[45])
    except (OSError, ValueError, IndexError):
        return
    arguments = line.split(b"\0")
    offset = 0
    for i, argument in enumerate(arguments):
        option, equals, value = argument.partition(b"=")
        if i and arguments[i - 1] in _HIDDEN:
            ctypes.memset(start + offset, ord("x"), len(argument))
        elif equals and option in _HIDDEN:
            ctypes.memset(start + offset + len(option) + 1, ord("x"), len(value))
        offset += len(argument) + 1


def _build(arguments: argparse.Namespace) -> MujocoNode:
    values = _parameters()
    rtf = values["rtf"]
    if isinstance(rtf, bool) or not isinstance(rtf, int | float) or not 0 <= rtf <= 100:
        _exit(f"rtf is {rtf!r}; expected a number from 0 (as fast as possible) to 100")
    if values["render"] is False:  # what YAML makes of `off`
        values["render"] = "off"
    if values["render"] not in ("auto", "off"):
        _exit(f"unknown render '{values['render']}'; there are: auto, off")
    control = None if arguments.control_fd is None else socket.socket(fileno=arguments.control_fd)
    seed = secrets.randbelow(2**31) if arguments.seed is None else arguments.seed
    return MujocoNode(
        robot_profile.load(str(values["robot"])),
        scenes.load(str(values["scene"]), arguments.task_id, seed),
        config.cameras().cameras,
        seed=seed,
        rtf=float(rtf),
        render=values["render"] == "auto",
        control=control,
    )


def main() -> int:
    """Run until SIGINT or SIGTERM; 0 after an orderly end."""
    arguments = _arguments(remove_ros_args(sys.argv)[1:])
    _hide_what_is_drawn()
    stopping: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _frame: stopping.append(received))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        try:
            node = _build(arguments)
        except (ConfigError, AssetError, ValueError, OSError) as error:
            _exit(str(error))
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        node.start()
        try:
            while not stopping and node.failure is None:
                executor.spin_once(timeout_sec=0.1)
        finally:
            node.stop()
            executor.shutdown()
            node.destroy_node()
        if node.failure is not None:
            _exit(f"the simulation ended: {type(node.failure).__name__}: {node.failure}")
        return 0
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    sys.exit(main())
