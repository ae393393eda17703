"""The node as a process of its own, over real topics: twice wall speed, so stamps are simulation time."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, JointState
from trajectory_msgs.msg import JointTrajectory

from pyrua_ros.backends.mujoco.control import ControlClient
from pyrua_ros.robot_model import profile
from pyrua_ros.robot_model.trajectory import Trajectory
from pyrua_ros.wire import config, names, qos, trajectories

FR3 = profile.load("fr3")
HOME = np.array(FR3.arm.home)
DEADLINE_S = 60.0


class Simulator:
    """The node's process, what it printed, and the control line to it."""

    def __init__(
        self,
        folder: Path,
        *parameters: str,
        arguments: Sequence[str] = ("--seed", "1"),
        environment: dict[str, str] | None = None,
    ) -> None:
        here, there = socket.socketpair()
        self.log = folder / "mujoco.log"
        command = [sys.executable, "-m", "pyrua_ros.backends.mujoco.node", *arguments]
        command += ["--control-fd", str(there.fileno()), "--ros-args"]
        for parameter in parameters:
            command += ["-p", parameter]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=[there.fileno()],
                env={**os.environ, **(environment or {})},
            )
        there.close()
        self.control = ControlClient(here, timeout_s=DEADLINE_S)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=20.0)
        finally:
            self.process.kill()
            self.control.close()


class Peer:
    """A node of this test on the simulator's graph."""

    def __init__(self, name: str) -> None:
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = Node(name, context=self.context, start_parameter_services=False)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.states: list[JointState] = []
        self.node.create_subscription(JointState, names.JOINT_STATES, self.states.append, qos.SENSOR)
        self.arm = self.node.create_publisher(JointTrajectory, FR3.arm.command_topic, qos.COMMAND_OFFERED)
        self.gripper = self.node.create_publisher(
            JointTrajectory, FR3.gripper.command_topic, qos.COMMAND_OFFERED
        )
        self.until(lambda: self.states and self.arm.get_subscription_count())

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.02)

    def until(self, condition, what: str = "the condition") -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            self.executor.spin_once(timeout_sec=0.02)
            assert time.monotonic() < deadline, f"{what} did not become true in time"

    @property
    def q(self) -> np.ndarray:
        """Measured arm joints now."""
        self.states.clear()
        self.until(lambda: self.states, "a joint state")
        return np.array(self.states[-1].position[:7])

    @property
    def velocity(self) -> np.ndarray:
        self.states.clear()
        self.until(lambda: self.states, "a joint state")
        return np.array(self.states[-1].velocity[:7])

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()


def ramp(start, end, duration, order=range(7)):
    u = np.linspace(0.0, 1.0, 41)[:, None]
    order = list(order)
    step = (end - start)[order]
    return Trajectory(
        tuple(FR3.arm.joints[i] for i in order),
        u[:, 0] * duration,
        start[order] + step * (10 * u**3 - 15 * u**4 + 6 * u**5),
        step * (30 * u**2 - 60 * u**3 + 30 * u**4) / duration,
        step * (60 * u - 180 * u**2 + 120 * u**3) / duration**2,
    )


def near(peer, target, tolerance=2e-3):
    return lambda: np.max(np.abs(peer.q - target)) < tolerance


@pytest.fixture(scope="module")
def simulator(ros_domain, tmp_path_factory):
    simulator = Simulator(tmp_path_factory.mktemp("mujoco"), "rtf:=2.0")
    yield simulator
    assert simulator.stop() == 0, simulator.log.read_text()


@pytest.fixture(scope="module")
def gate(simulator):
    peer = Peer("gate")
    yield peer
    peer.close()


def go_home(gate):
    gate.arm.publish(trajectories.to_message(ramp(gate.q, HOME, 1.0)))
    gate.until(near(gate, HOME), "home")


def test_joint_states_come_at_250_hz_of_simulated_time_with_all_joints(simulator, gate):
    gate.states.clear()
    gate.until(lambda: len(gate.states) > 100)
    stamps = np.array([m.header.stamp.sec + m.header.stamp.nanosec * 1e-9 for m in gate.states])
    assert np.median(np.diff(stamps)) == pytest.approx(0.004, abs=1e-9)
    newest = gate.states[-1]
    assert tuple(newest.name) == (*FR3.arm.joints, *FR3.gripper.joints)
    assert (len(newest.position), len(newest.velocity), len(newest.effort)) == (9, 9, 9)


def test_the_clock_runs_with_the_stamps(simulator, gate):
    clocks = []
    subscription = gate.node.create_subscription(Clock, "/clock", clocks.append, qos.SENSOR)
    gate.until(lambda: len(clocks) > 5, "a running clock")
    gate.node.destroy_subscription(subscription)
    gate.states.clear()
    gate.until(lambda: gate.states)
    state, clock = gate.states[-1].header.stamp, clocks[-1].clock
    assert clock.sec + clock.nanosec * 1e-9 == pytest.approx(state.sec + state.nanosec * 1e-9, abs=1.0)
    assert clock.sec < 1e6


def test_a_trajectory_with_shuffled_joints_is_followed_to_its_end(simulator, gate):
    target = HOME + 0.03 * np.arange(1, 8)
    gate.arm.publish(trajectories.to_message(ramp(gate.q, target, 1.0, order=[6, 2, 0, 4, 1, 5, 3])))
    gate.until(near(gate, target), "the target")
    go_home(gate)


def test_a_new_trajectory_replaces_the_old_at_once(simulator, gate):
    gate.arm.publish(trajectories.to_message(ramp(HOME, HOME + 0.6, 4.0)))
    gate.until(lambda: gate.q[0] > HOME[0] + 0.05, "the motion's beginning")
    gate.arm.publish(trajectories.to_message(ramp(gate.q, HOME, 1.0)))
    highest = []
    gate.until(lambda: highest.append(gate.q[0]) or near(gate, HOME)(), "home")
    assert max(highest) < HOME[0] + 0.4
    gate.spin(0.5)
    np.testing.assert_allclose(gate.q, HOME, atol=2e-3)


def test_bad_commands_are_rejected_with_a_line_and_the_arm_holds(simulator, gate):
    subset = trajectories.to_message(ramp(HOME, HOME + 0.2, 1.0, order=range(6)))
    empty = JointTrajectory(joint_names=list(FR3.arm.joints))
    ragged = trajectories.to_message(ramp(HOME, HOME + 0.2, 1.0))
    ragged.points[3].velocities = [0.0] * 5
    later = trajectories.to_message(ramp(HOME, HOME + 0.2, 1.0))
    later.header.stamp.sec = 10**6
    reasons = {
        "joints are fr3_joint1, ": subset,
        "the trajectory has no points": empty,
        "point 3 has 5 velocities for 7 joints": ragged,
        "it starts in ": later,
    }
    for reason, message in reasons.items():
        gate.arm.publish(message)
        gate.until(lambda reason=reason: reason in simulator.log.read_text(), reason)
    gate.gripper.publish(trajectories.gripper_message(0.2, None))
    gate.until(lambda: "width 0.2 m is not within 0 to 0.08 m" in simulator.log.read_text())
    np.testing.assert_allclose(gate.q, HOME, atol=2e-3)


def test_the_gripper_closes_on_command(simulator, gate):
    gate.gripper.publish(trajectories.gripper_message(0.0, 20.0))
    gate.until(lambda: gate.q is not None and sum(gate.states[-1].position[7:]) < 1e-3, "a closed hand")
    gate.gripper.publish(trajectories.gripper_message(0.08, None))
    gate.until(lambda: gate.q is not None and sum(gate.states[-1].position[7:]) > 0.079, "an open hand")


def test_a_foreign_publisher_is_ignored_and_named_once(simulator, gate):
    intruder = Peer("intruder")
    for _ in range(3):
        intruder.arm.publish(trajectories.to_message(ramp(HOME, HOME + 0.3, 0.5)))
        gate.spin(0.5)
    np.testing.assert_allclose(gate.q, HOME, atol=2e-3)
    assert simulator.log.read_text().count("from node 'intruder'") == 1
    intruder.close()
    gate.arm.publish(trajectories.to_message(ramp(gate.q, HOME + 0.05, 0.5)))
    gate.until(near(gate, HOME + 0.05), "the gate's target")
    go_home(gate)


def test_a_second_node_called_gate_is_ignored_while_the_first_lives(simulator, gate):
    twin = Peer("gate")
    twin.arm.publish(trajectories.to_message(ramp(HOME, HOME + 0.3, 0.5)))
    gate.until(lambda: "from node 'gate'" in simulator.log.read_text(), "the warning")
    gate.spin(0.5)
    np.testing.assert_allclose(gate.q, HOME, atol=2e-3)
    twin.close()


def test_the_arm_brakes_when_the_gate_goes_away_and_follows_the_next_gate(simulator, gate):
    gate.arm.publish(trajectories.to_message(ramp(HOME, HOME + 0.5, 6.0)))
    gate.until(lambda: gate.q[0] > HOME[0] + 0.1, "the motion's beginning")
    gate.node.destroy_publisher(gate.arm)
    gate.until(lambda: np.max(np.abs(gate.velocity)) < 1e-3, "standstill")
    stopped = gate.q
    assert stopped[0] < HOME[0] + 0.45
    gate.spin(1.0)
    np.testing.assert_allclose(gate.q, stopped, atol=1e-3)
    assert "braking to a hold" in simulator.log.read_text()
    gate.arm = gate.node.create_publisher(JointTrajectory, FR3.arm.command_topic, qos.COMMAND_OFFERED)
    gate.until(lambda: gate.arm.get_subscription_count(), "the subscription")
    gate.spin(0.5)
    go_home(gate)


def test_cameras_render_only_while_somebody_subscribes(simulator, gate):
    before = simulator.control.stats()
    assert before["cameras"] is True, simulator.log.read_text()
    gate.spin(0.5)
    assert simulator.control.stats()["frames"] == before["frames"]
    camera = config.cameras().named("front")
    received: dict[str, list] = {"color": [], "depth": [], "info": []}
    subscriptions = [
        gate.node.create_subscription(kind, topic, received[key].append, qos.SENSOR)
        for key, kind, topic in (
            ("color", Image, names.color("front")),
            ("depth", Image, names.depth("front")),
            ("info", CameraInfo, names.color_info("front")),
        )
    ]
    gate.until(lambda: all(len(messages) >= 7 for messages in received.values()), "seven frames of each")
    color, depth, info = (received[key][-1] for key in ("color", "depth", "info"))
    assert (color.encoding, color.height, color.width, color.step) == ("rgb8", 480, 640, 1920)
    assert (depth.encoding, depth.height, depth.width, depth.step) == ("32FC1", 480, 640, 2560)
    assert (info.height, info.width) == (480, 640)
    assert color.header.frame_id == depth.header.frame_id == info.header.frame_id
    stamps = [m.header.stamp.sec + m.header.stamp.nanosec * 1e-9 for m in received["color"]]
    # Each newcomer is served at once and once more; from there on frames come at the camera's rate.
    assert min(np.diff(stamps)[-2:]) >= 1.0 / camera.rate_hz - 0.1
    for subscription in subscriptions:
        gate.node.destroy_subscription(subscription)
    assert simulator.control.stats()["frames"] > before["frames"]

    def still() -> bool:
        frames = simulator.control.stats()["frames"]
        gate.spin(0.5)
        return simulator.control.stats()["frames"] == frames

    assert any(still() for _ in range(20))


def test_a_frame_is_stamped_with_the_time_of_the_state_it_shows(simulator, gate):
    frames = []
    subscription = gate.node.create_subscription(Image, names.color("wrist"), frames.append, qos.SENSOR)
    gate.until(lambda: frames, "a frame")
    stamp = frames[-1].header.stamp.sec + frames[-1].header.stamp.nanosec * 1e-9
    assert stamp == pytest.approx(round(stamp / 0.002) * 0.002, abs=1e-6)
    assert stamp <= simulator.control.stats()["sim_time"]
    gate.node.destroy_subscription(subscription)


def test_score_and_truth_come_over_the_control_line(simulator, gate):
    score = simulator.control.score()
    assert score["success"] is False
    assert score["detail"]["at_rest(red_cube)"] is True
    truth = simulator.control.truth()
    assert set(truth["objects"]) == {"red_cube", "bowl", "blue_cube", "green_cylinder"}
    assert truth["objects"]["red_cube"]["xyz"][2] == pytest.approx(0.02, abs=1e-3)
    np.testing.assert_allclose([truth["joints"][n] for n in FR3.arm.joints], gate.q, atol=2e-3)


def test_the_record_of_motion_starts_anew_when_it_was_read(simulator, gate):
    go_home(gate)
    gate.arm.publish(trajectories.to_message(ramp(HOME, HOME + 0.05, 1.0)))
    gate.until(near(gate, HOME + 0.05))
    record = simulator.control.record()
    assert max(record["commanded_velocity"]) >= 0.05 * 1.875 - 1e-3
    go_home(gate)
    gate.spin(0.3)
    simulator.control.record()
    assert max(simulator.control.record()["commanded_velocity"]) == 0.0


def test_nothing_on_the_graph_tells_where_objects_are(simulator, gate):
    services = dict(gate.node.get_service_names_and_types_by_node("mujoco", "/"))
    assert [name for name in services if "type_description" not in name] == []
    topics = {name for name, _ in gate.node.get_publisher_names_and_types_by_node("mujoco", "/")}
    allowed = {"/joint_states", "/clock", "/rosout", "/parameter_events"}
    assert {
        t for t in topics - allowed if "/color/" not in t and "/aligned_depth_to_color/" not in t
    } == set()
    log = simulator.log.read_text()
    for word in ("seed", "red_cube", "inside"):
        assert word not in log


def test_the_seed_is_not_in_the_process_list(simulator, gate):
    line = Path(f"/proc/{simulator.process.pid}/cmdline").read_bytes().split(b"\0")
    assert line[line.index(b"--seed") + 1] == b"x"


def test_one_of_many_tasks_is_scored_and_named_nowhere(ros_domain, tmp_path):
    arguments = ("--seed=5", "--task-id", "open_drawer")
    simulator = Simulator(tmp_path, "scene:=tabletop", "render:=off", arguments=arguments)
    try:
        assert simulator.control.score() == {"success": False, "detail": {"opened(cabinet)": False}}
        assert set(simulator.control.truth()["objects"]) > {"cabinet"}
        line = Path(f"/proc/{simulator.process.pid}/cmdline").read_bytes().split(b"\0")
        assert b"--seed=x" in line
        assert line[line.index(b"--task-id") + 1] == b"x" * len("open_drawer")
    finally:
        assert simulator.stop() == 0
    assert "drawer" not in simulator.log.read_text()


def test_without_egl_it_runs_without_cameras_and_says_what_to_install(ros_domain, tmp_path):
    blind = Simulator(tmp_path, "rtf:=2.0", environment={"PYOPENGL_PLATFORM": "osmesa"})
    try:
        assert blind.control.stats()["cameras"] is False
        deadline = time.monotonic() + DEADLINE_S
        while blind.control.stats()["sim_time"] < 0.1:
            assert time.monotonic() < deadline
        assert blind.log.read_text().count("apt install libegl1 libgl1-mesa-dri") == 1
    finally:
        code = blind.stop()
    assert code == 0, blind.log.read_text()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--ros-args", "-p", "scene:=kitchen"], "mujoco: unknown scene 'kitchen'; there are: cube_bowl"),
        (["--ros-args", "-p", "robot:=ur5"], "mujoco: unknown robot 'ur5'; there are: fr3"),
        (["--ros-args", "-p", "rtf:=fast"], "mujoco: rtf is 'fast'; expected a number"),
        (["--ros-args", "-p", "render:=vulkan"], "mujoco: unknown render 'vulkan'; there are: auto, off"),
        (["--sed", "3"], "mujoco: unrecognized arguments: --sed 3"),
    ],
)
def test_misuse_is_one_line_that_lists_what_exists(ros_domain, arguments, expected):
    result = subprocess.run(
        [sys.executable, "-m", "pyrua_ros.backends.mujoco.node", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert result.returncode == 1
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith(expected)
