"""The gate as a process between an agent and a minimal robot, over real ROS."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from pyrua_ros.gate import config as gate_config
from pyrua_ros.gate.stop_socket import request_stop
from pyrua_ros.robot_model import profile as robot_profile
from pyrua_ros.robot_model.trajectory import Trajectory
from pyrua_ros.wire import names, qos, trajectories
from pyrua_ros.wire.gate import GateEvent, GateState

FR3 = robot_profile.load("fr3")
HOME = np.array(FR3.arm.home)


def minimum_jerk(start: np.ndarray, end: np.ndarray, duration: float = 1.5, points: int = 31) -> Trajectory:
    t = np.linspace(0.0, duration, points)
    s = (t / duration)[:, None]
    d = (end - start)[None, :]
    return Trajectory(
        FR3.arm.joints,
        t,
        start + d * (10 * s**3 - 15 * s**4 + 6 * s**5),
        d * (30 * s**2 - 60 * s**3 + 30 * s**4) / duration,
        d * (60 * s - 180 * s**2 + 120 * s**3) / duration**2,
    )


def eventually(what: Callable[[], bool], seconds: float = 40.0) -> bool:
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


class Robot:
    """Follows every trajectory perfectly; publishes joint states, fingers first, at 100 Hz."""

    def __init__(self, node: rclpy.node.Node) -> None:
        self.position = HOME.copy()
        self.shown = self.position
        self.width = self.width_target = 0.08
        self.commands: list[tuple[float, JointTrajectory]] = []
        self.grips: list[JointTrajectory] = []
        self.silent = self.frozen = False
        self._trajectory: Trajectory | None = None
        self._out = node.create_publisher(JointState, names.JOINT_STATES, 1)
        node.create_subscription(JointTrajectory, FR3.arm.command_topic, self._on_arm, qos.COMMAND_REQUESTED)
        node.create_subscription(
            JointTrajectory, FR3.gripper.command_topic, self._on_gripper, qos.COMMAND_REQUESTED
        )
        node.create_timer(0.01, self._step)

    @property
    def last(self) -> Trajectory:
        return trajectories.from_message(self.commands[-1][1])

    def _on_arm(self, message: JointTrajectory) -> None:
        self.commands.append((time.monotonic(), message))
        self._trajectory = trajectories.from_message(message)

    def _on_gripper(self, message: JointTrajectory) -> None:
        self.grips.append(message)
        self.width_target = message.points[0].positions[0]

    def _step(self) -> None:
        velocity = np.zeros(7)
        if self._trajectory is not None:
            sample = self._trajectory.sample(time.monotonic() - self.commands[-1][0])
            self.position, velocity = sample.position.copy(), sample.velocity
        self.width += float(np.clip(self.width_target - self.width, -0.001, 0.001))
        if self.silent:
            return
        message = JointState(name=[*FR3.gripper.joints, *FR3.arm.joints])
        shown = self.position if not self.frozen else self.shown
        self.shown = shown.copy()
        message.position = [self.width / 2, self.width / 2, *shown.tolist()]
        message.velocity = [0.0, 0.0, *velocity.tolist()]
        self._out.publish(message)


class Agent:
    """Sends goals and listens to the gate."""

    def __init__(self, node: rclpy.node.Node) -> None:
        self._node = node
        self.events: list[GateEvent] = []
        self.state: GateState | None = None
        self.arm = node.create_publisher(JointTrajectory, names.AGENT_TRAJECTORY, qos.COMMAND_OFFERED)
        self.gripper = node.create_publisher(JointTrajectory, names.AGENT_GRIPPER, qos.COMMAND_OFFERED)
        self.operator = node.create_publisher(JointTrajectory, names.OPERATOR_TRAJECTORY, qos.COMMAND_OFFERED)
        self.operator_gripper = node.create_publisher(
            JointTrajectory, names.OPERATOR_GRIPPER, qos.COMMAND_OFFERED
        )
        self.approve = node.create_publisher(String, names.AGENT_APPROVE, qos.EVENTS)
        node.create_subscription(String, names.GATE_EVENTS, self._on_event, qos.EVENTS)
        node.create_subscription(DiagnosticStatus, names.GATE_STATE, self._on_state, qos.LATCHED)
        self._clients = {
            name: node.create_client(Trigger, name)
            for name in (
                names.GATE_HOLD,
                names.GATE_STOP,
                names.GATE_RESUME,
                names.GATE_TAKE_OVER,
                names.GATE_HAND_BACK,
            )
        }

    def _on_event(self, message: String) -> None:
        self.events.append(GateEvent.model_validate_json(message.data))

    def _on_state(self, message: DiagnosticStatus) -> None:
        self.state = GateState.from_message(message)

    def send(self, trajectory: Trajectory, goal: str) -> None:
        self.arm.publish(trajectories.to_message(trajectory, goal))

    def of(self, goal: str) -> list[str]:
        return [event.event for event in self.events if event.goal == goal]

    def reason(self, goal: str) -> str:
        return [event.reason for event in self.events if event.goal == goal][-1]

    def call(self, name: str) -> Trigger.Response:
        client = self._clients[name]
        assert client.wait_for_service(timeout_sec=40.0)
        future = client.call_async(Trigger.Request())
        assert eventually(future.done)
        return future.result()


def patient(folder: Path) -> Path:
    """The gate's configuration with longer times: a busy machine must not look like a fault."""
    path = folder / "gate.yaml"
    config = gate_config.load().model_dump(mode="json")
    config["start"] |= {"max_late_s": 2.0}
    config["progress"] |= {"stale_s": 1.0, "frozen_s": 1.0, "late_s": 10.0}
    config["progress"] |= {"standstill_s": 10.0, "settle_s": 10.0, "max_lag_s": 2.0}
    path.write_text(yaml.safe_dump(config))
    return path


class Setup:
    """Robot and agent spin in a thread of the test; the gate is a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "stop.sock"
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        robot_node = rclpy.create_node("robot", context=self.context, start_parameter_services=False)
        agent_node = rclpy.create_node("agent", context=self.context, start_parameter_services=False)
        self.robot, self.agent = Robot(robot_node), Agent(agent_node)
        self.nodes = [robot_node, agent_node]
        for node in self.nodes:
            self.executor.add_node(node)
        self._thread = threading.Thread(target=self.executor.spin, daemon=True)
        self._thread.start()
        self.gate: subprocess.Popen[str] | None = None
        self.config = patient(folder)

    def start_gate(self, *params: str) -> subprocess.Popen[str]:
        return self.start_process(
            gate_command(
                f"run_dir:={self.folder}", f"socket:={self.socket}", f"config:={self.config}", *params
            )
        )

    def start_process(self, command: list[str]) -> subprocess.Popen[str]:
        self.agent.state = None
        # Not a pipe: nobody reads it, and a full one would block the gate.
        with open(self.folder / "log", "a") as log:
            self.gate = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert eventually(lambda: self.agent.state is not None, 60.0), self.story()
        assert eventually(lambda: self.agent.arm.get_subscription_count() > 0)
        assert eventually(
            lambda: self.agent.state is not None and not self.agent.state.why.startswith("not ready")
        )
        assert eventually(lambda: self.agent.gripper.get_subscription_count() > 0)
        return self.gate

    def wait_for(self, goal: str, event: str, seconds: float = 40.0) -> None:
        assert eventually(lambda: event in self.agent.of(goal), seconds), self.story()

    def story(self) -> str:
        """What happened, for a test that waited in vain."""
        lines = [repr(event) for event in self.agent.events[-8:]]
        log = (self.folder / "log").read_text().splitlines()[-15:]
        return "\n".join(["", *lines, repr(self.agent.state), *log])

    def go(self, goal: str, by: float = 0.2, duration: float = 1.5) -> Trajectory:
        trajectory = minimum_jerk(self.robot.position, self.robot.position + by, duration)
        self.agent.send(trajectory, goal)
        return trajectory

    def stream(self, goal: str, by: float) -> Trajectory:
        """As an operator's node does: at 50 Hz, from 0.1 s ahead, what is left of one motion."""
        start = self.robot.position.copy()
        whole = minimum_jerk(start, start + by, 1.5, 76)
        begin = time.time() + 0.3
        for k in range(70):
            columns = (whole.positions[k:], whole.velocities[k:], whole.accelerations[k:])
            part = Trajectory(whole.names, whole.times[k:] - whole.times[k], *columns)
            self.agent.operator.publish(trajectories.to_message(part, goal, begin + whole.times[k]))
            time.sleep(max(0.0, begin + whole.times[k] - 0.1 - time.time()))
        return whole

    def go_and_be_in_motion(self, goal: str) -> int:
        """Returns how many commands the robot has had so far; the motion has some 4 s to go."""
        start = self.robot.position.copy()
        by = 0.3 if start[0] < 0.1 else -0.3
        self.go(goal, by, 5.0)
        self.wait_for(goal, "accepted")
        assert eventually(lambda: abs(self.robot.position[0] - start[0]) > 0.03), self.story()
        return len(self.robot.commands)

    def rest(self) -> None:
        assert eventually(lambda: self.agent.state is not None and not self.agent.state.moving)

    def end_gate(self) -> None:
        if self.gate is not None:
            self.gate.terminate()
            self.gate.communicate(timeout=40)

    def close(self) -> None:
        self.end_gate()
        self.executor.shutdown()
        self._thread.join(timeout=5)
        for node in self.nodes:
            node.destroy_node()
        rclpy.try_shutdown(context=self.context)


def gate_command(*params: str) -> list[str]:
    ros_args = [part for param in params for part in ("-p", param)]
    return [sys.executable, "-m", "pyrua_ros.gate.node", "--ros-args", *ros_args]


def run_gate(*params: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(gate_command(*params), check=False, capture_output=True, text=True, timeout=60)


def is_brake(trajectory: Trajectory) -> bool:
    return bool(np.abs(trajectory.velocities[0]).max() > 0.01 and not trajectory.velocities[-1].any())


@pytest.fixture(scope="module")
def setup(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setup]:
    setup = Setup(tmp_path_factory.mktemp("gate"))
    setup.start_gate()
    yield setup
    setup.close()


@pytest.fixture(autouse=True)
def at_rest_and_open(setup: Setup) -> Iterator[None]:
    assert setup.gate is not None
    if setup.gate.poll() is not None:
        setup.start_gate()
    if setup.agent.state is None or setup.agent.state.mode == "stopped":
        setup.agent.call(names.GATE_RESUME)
    if setup.agent.state is not None and setup.agent.state.mode == "operator":
        setup.agent.call(names.GATE_HAND_BACK)
    setup.rest()
    yield


def test_a_goal_is_accepted_forwarded_and_done(setup):
    trajectory = setup.go("a1")
    setup.wait_for("a1", "done")
    assert setup.agent.of("a1") == ["accepted", "done"]
    assert setup.robot.commands[-1][1].header.frame_id == "a1"
    assert np.array_equal(setup.robot.last.positions, trajectory.positions)
    assert setup.robot.position == pytest.approx(trajectory.end, abs=0.001)


def test_a_trajectory_with_shuffled_joints_is_mapped_by_name(setup):
    straight = minimum_jerk(setup.robot.position, setup.robot.position + np.linspace(-0.1, 0.1, 7))
    order = [6, 0, 5, 1, 4, 2, 3]
    columns = (straight.positions, straight.velocities, straight.accelerations)
    shuffled = tuple(straight.names[i] for i in order)
    setup.agent.send(Trajectory(shuffled, straight.times, *(c[:, order] for c in columns)), "a2")
    setup.wait_for("a2", "done")
    assert setup.robot.last.names == FR3.arm.joints
    assert setup.robot.position == pytest.approx(straight.end, abs=0.001)


def test_a_trajectory_beyond_the_limits_is_refused_and_never_reaches_the_robot(setup):
    before = len(setup.robot.commands)
    setup.go("a3", by=0.2, duration=0.2)
    setup.wait_for("a3", "refused")
    assert "jerk of fr3_joint" in setup.agent.reason("a3") or "velocity of fr3_joint" in setup.agent.reason(
        "a3"
    )
    assert len(setup.robot.commands) == before


def test_a_command_without_a_goal_is_refused_with_an_empty_goal(setup):
    setup.go("")
    setup.wait_for("", "refused")
    assert setup.agent.reason("") == "the command has no goal ID in header.frame_id"


def test_a_message_without_accelerations_is_refused_under_its_goal(setup):
    message = trajectories.to_message(minimum_jerk(setup.robot.position, setup.robot.position), "a4")
    for point in message.points:
        point.accelerations = []
    setup.agent.arm.publish(message)
    setup.wait_for("a4", "refused")
    assert setup.agent.reason("a4") == "point 0 has 0 accelerations for 7 joints"


def test_a_flood_is_refused_and_the_gate_still_works(setup):
    message = trajectories.to_message(minimum_jerk(HOME + 1.0, HOME + 1.0, points=2), "flood")

    def flooded() -> bool:
        setup.agent.arm.publish(message)
        return any(e.goal == "flood" and e.reason.startswith("too many commands") for e in setup.agent.events)

    assert eventually(flooded)
    time.sleep(0.3)
    setup.go("a5", by=-0.1)
    setup.wait_for("a5", "done")


def test_a_gripper_goal_is_forwarded_and_done(setup):
    setup.agent.gripper.publish(trajectories.gripper_message(0.03, 20.0, "c1"))
    setup.wait_for("c1", "done")
    assert trajectories.read_gripper(setup.robot.grips[-1]) == (0.03, 20.0)
    assert setup.robot.width == pytest.approx(0.03, abs=0.001)
    assert [e.device for e in setup.agent.events if e.goal == "c1"] == ["gripper", "gripper"]


def test_a_gripper_wider_than_the_hand_is_refused(setup):
    setup.agent.gripper.publish(trajectories.gripper_message(0.2, None, "c2"))
    setup.wait_for("c2", "refused")
    assert setup.agent.reason("c2") == "gripper width 0.2 m is outside 0 to 0.08 m"


def test_hold_brakes_and_lets_the_agent_go_on(setup):
    before = setup.go_and_be_in_motion("a6")
    assert setup.agent.call(names.GATE_HOLD).message == "held"
    setup.wait_for("a6", "held")
    assert eventually(lambda: len(setup.robot.commands) == before + 1)
    assert is_brake(setup.robot.last)
    setup.rest()
    setup.go("a7", by=-0.1)
    setup.wait_for("a7", "done")


def test_stop_and_resume_never_replay_the_old_trajectory(setup):
    before = setup.go_and_be_in_motion("a8")
    assert setup.agent.call(names.GATE_STOP).message == "stopped"
    setup.wait_for("a8", "held")
    assert eventually(lambda: setup.agent.state.mode == "stopped")
    assert setup.agent.state.why == "the stop service was called"
    setup.rest()
    where = setup.robot.position.copy()
    setup.go("a9")
    setup.wait_for("a9", "refused")
    assert setup.agent.reason("a9") == "stopped: the stop service was called; a person must resume"
    assert setup.agent.call(names.GATE_RESUME).success
    assert eventually(lambda: setup.agent.state.mode == "agent")
    time.sleep(0.3)
    assert np.allclose(setup.robot.position, where, atol=1e-5)
    assert eventually(lambda: len(setup.robot.commands) == before + 1)
    setup.go("a10", by=0.1)
    setup.wait_for("a10", "done")


def test_a_stop_survives_kill_and_restart(setup):
    setup.go_and_be_in_motion("a11")
    assert request_stop(setup.socket, 5.0, "from the socket") == "stopped"
    first = setup.agent.state.boot_id
    setup.gate.kill()
    setup.end_gate()
    setup.start_gate()
    assert eventually(lambda: setup.agent.state.boot_id != first)
    assert setup.agent.state.mode == "stopped"
    assert setup.agent.state.why == "stopped before this start: from the socket"
    setup.go("a12", by=-0.1)
    setup.wait_for("a12", "refused")
    assert setup.agent.call(names.GATE_RESUME).success
    setup.go("a13", by=-0.1)
    setup.wait_for("a13", "done")
    assert not (setup.folder / "gate" / "stop.json").exists()


_BUSY_GATE = """
import sys, time
from pathlib import Path
import rclpy
from rclpy.executors import SingleThreadedExecutor
from pyrua_ros.gate import config
from pyrua_ros.gate.node import GateNode
from pyrua_ros.robot_model import profile

rclpy.init(args=sys.argv[3:])
node = rclpy.create_node("gate", start_parameter_services=False)
executor = SingleThreadedExecutor()
executor.add_node(node)
gate = GateNode(node, profile.load("fr3"), config.load(sys.argv[2]))
while not Path(sys.argv[1]).exists():
    executor.spin_once(timeout_sec=0.05)
print("busy", flush=True)
until = time.monotonic() + 60
while time.monotonic() < until:
    pass
"""


def test_a_stop_through_the_socket_brakes_while_the_executor_thread_is_busy(setup, tmp_path):
    setup.end_gate()
    setup.start_process(
        [sys.executable, "-c", _BUSY_GATE, str(tmp_path / "busy"), str(setup.config), "--ros-args"]
        + ["-p", f"run_dir:={tmp_path}", "-p", f"socket:={setup.socket}"]
    )
    start = setup.robot.position.copy()
    setup.go("b1", by=0.6 if start[0] < 0.1 else -0.6, duration=4.0)
    setup.wait_for("b1", "accepted")
    assert eventually(lambda: abs(setup.robot.position[0] - start[0]) > 0.1)
    before = len(setup.robot.commands)
    (tmp_path / "busy").touch()
    assert setup.gate.stdout.readline() == "busy\n"
    assert request_stop(setup.socket, 5.0) == "stopped"
    assert eventually(lambda: len(setup.robot.commands) == before + 1)
    assert is_brake(setup.robot.last)
    assert (tmp_path / "gate" / "stop.json").exists()
    setup.gate.kill()
    setup.end_gate()


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
def test_an_agent_killed_or_frozen_in_mid_move_is_a_hold(setup, tmp_path, fault, request):
    code = (
        "import sys, time, pickle, rclpy\n"
        "from trajectory_msgs.msg import JointTrajectory\n"
        "from pyrua_ros.wire import names, qos, trajectories\n"
        "rclpy.init(); node = rclpy.create_node('doomed')\n"
        "out = node.create_publisher(JointTrajectory, names.AGENT_TRAJECTORY, qos.COMMAND_OFFERED)\n"
        "while not out.get_subscription_count(): time.sleep(0.01)\n"
        "time.sleep(0.3)\n"
        "out.publish(trajectories.to_message(pickle.load(open(sys.argv[1], 'rb')), sys.argv[2]))\n"
        "time.sleep(60)\n"
    )
    goal = f"d{int(fault)}"
    (tmp_path / "goal").write_bytes(
        pickle.dumps(minimum_jerk(setup.robot.position, HOME + 0.3 * (setup.robot.position[0] < 0.1), 6.0))
    )
    doomed = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "goal"), goal])
    request.addfinalizer(doomed.wait)
    request.addfinalizer(doomed.kill)
    setup.wait_for(goal, "accepted", 30.0)
    start = setup.robot.position.copy()
    assert eventually(lambda: abs(setup.robot.position[0] - start[0]) > 0.03), setup.story()
    before = len(setup.robot.commands)
    doomed.send_signal(fault)
    setup.wait_for(goal, "held")
    assert setup.agent.reason(goal) == "the agent is gone: its publisher lost liveliness"
    assert eventually(lambda: len(setup.robot.commands) == before + 1)
    assert is_brake(setup.robot.last)


def test_joint_states_that_fall_silent_in_motion_are_a_hold(setup):
    before = setup.go_and_be_in_motion("a14")
    setup.robot.silent = True
    setup.wait_for("a14", "held")
    setup.robot.silent = False
    assert setup.agent.reason("a14").startswith("no joint_states for 1.")
    assert eventually(lambda: len(setup.robot.commands) == before + 1)
    assert is_brake(setup.robot.last)


def test_joint_states_that_freeze_in_motion_are_a_hold(setup):
    setup.go_and_be_in_motion("a18")
    setup.robot.frozen = True
    setup.wait_for("a18", "held")
    setup.robot.frozen = False
    assert setup.agent.reason("a18").startswith("joint_states have been the very same for 1.")
    assert eventually(lambda: is_brake(setup.robot.last))


def test_a_trajectory_into_the_table_is_refused_and_never_reaches_the_robot(setup):
    before = len(setup.robot.commands)
    low = HOME + np.array([0, 1.6, 0, 0.3, 0, 0, 0])
    setup.agent.send(minimum_jerk(setup.robot.position, low, 6.0), "a19")
    setup.wait_for("a19", "refused")
    assert " with table, " in setup.agent.reason("a19")
    assert len(setup.robot.commands) == before


def test_an_operator_takes_over_in_mid_move_streams_and_hands_back(setup):
    before = setup.go_and_be_in_motion("a20")
    assert setup.agent.call(names.GATE_TAKE_OVER).message == "operator"
    setup.wait_for("a20", "held")
    assert setup.agent.reason("a20") == "an operator took over"
    assert eventually(lambda: len(setup.robot.commands) == before + 1)
    assert is_brake(setup.robot.last)
    assert eventually(lambda: setup.agent.state.mode == "operator")
    assert setup.agent.state.who == "an operator"
    setup.rest()
    setup.go("a21")
    setup.wait_for("a21", "refused")
    assert setup.agent.reason("a21") == "the operator has the arm: an operator took over"
    streamed = setup.stream("o1", by=0.15 if setup.robot.position[0] < 0.1 else -0.15)
    setup.wait_for("o1", "done")
    assert set(setup.agent.of("o1")) <= {"accepted", "refused", "done"}, setup.agent.of("o1")
    assert setup.robot.position == pytest.approx(streamed.end, abs=0.001)
    setup.agent.operator_gripper.publish(trajectories.gripper_message(0.06, None, "o2"))
    setup.wait_for("o2", "done")
    assert setup.agent.call(names.GATE_HAND_BACK).message == "agent"
    setup.go("a22", by=-0.1)
    setup.wait_for("a22", "done")


def test_terminate_in_motion_brakes_before_the_process_ends(setup):
    before = setup.go_and_be_in_motion("a15")
    setup.gate.send_signal(signal.SIGTERM)
    assert setup.gate.wait(timeout=40) == 0
    assert setup.agent.reason("a15") == "the gate is shutting down"
    assert eventually(lambda: len(setup.robot.commands) == before + 1)
    assert is_brake(setup.robot.last)
    assert not setup.socket.exists()


def test_a_gate_told_to_start_stopped_takes_nothing_until_resume(setup):
    setup.end_gate()
    setup.start_gate("start_stopped:=true")
    assert setup.agent.state.mode == "stopped"
    assert setup.agent.state.why == "the gate was restarted"
    assert setup.agent.call(names.GATE_RESUME).success
    setup.go("a16", by=0.1)
    setup.wait_for("a16", "done")


def test_a_second_gate_on_the_same_robot_refuses_to_start(setup, tmp_path):
    second = run_gate(f"run_dir:={tmp_path}")
    assert second.returncode == 1
    line = second.stderr.strip().splitlines()[-1]
    assert line.startswith("gate: /fr3_arm_controller/joint_trajectory has another publisher, node /gate: ")


def test_another_publisher_on_the_robot_is_a_latched_stop_that_names_it(setup):
    # Whoever shows up in the gate's first seconds was there before it: then the gate ends instead.
    time.sleep(5 * gate_config.load().discovery_s)
    rogue = rclpy.create_node("rogue", context=setup.context)
    publisher = rogue.create_publisher(JointTrajectory, FR3.arm.command_topic, qos.COMMAND_OFFERED)
    assert eventually(lambda: setup.agent.state.mode == "stopped")
    rogue.destroy_publisher(publisher)
    rogue.destroy_node()
    assert setup.agent.state.why == (
        "/fr3_arm_controller/joint_trajectory has another publisher, node /rogue: only the gate may command "
        "the robot; stop that node"
    )


def test_an_unknown_robot_is_one_line_that_lists_what_exists():
    result = run_gate("robot:=r2d2")
    assert result.returncode == 1
    assert result.stderr.strip().splitlines()[-1].startswith("gate: unknown robot 'r2d2'; there are: fr3")


def test_without_a_robot_a_goal_is_refused_with_the_topic(ros_domain):
    """In a domain of its own: nobody subscribes to the robot's topic."""
    environment = os.environ | {"ROS_DOMAIN_ID": str(ros_domain), "ROS_NAMESPACE": ""}
    code = (
        "import sys, time, json, rclpy, numpy as np\n"
        "from rclpy.executors import SingleThreadedExecutor\n"
        "from std_msgs.msg import String\n"
        "from sensor_msgs.msg import JointState\n"
        "from trajectory_msgs.msg import JointTrajectory\n"
        "from pyrua_ros.gate import config\n"
        "from pyrua_ros.gate.node import GateNode\n"
        "from pyrua_ros.robot_model import profile\n"
        "from pyrua_ros.robot_model.trajectory import Trajectory\n"
        "from pyrua_ros.wire import names, qos, trajectories\n"
        "rclpy.init(); executor = SingleThreadedExecutor()\n"
        "fr3 = profile.load('fr3')\n"
        "gate_node = rclpy.create_node('gate', namespace='lonely'); executor.add_node(gate_node)\n"
        "gate = GateNode(gate_node, fr3, config.load())\n"
        "node = rclpy.create_node('agent', namespace='lonely'); executor.add_node(node)\n"
        "events = []\n"
        "node.create_subscription(String, names.GATE_EVENTS, lambda m: events.append(json.loads(m.data)), qos.EVENTS)\n"
        "out = node.create_publisher(JointTrajectory, names.AGENT_TRAJECTORY, qos.COMMAND_OFFERED)\n"
        "home = np.array([fr3.arm.home]); rest = np.zeros((1, 7))\n"
        "hold = Trajectory(fr3.arm.joints, np.zeros(1), home, rest, rest)\n"
        "deadline = time.monotonic() + 10\n"
        "while not events and time.monotonic() < deadline:\n"
        "    executor.spin_once(timeout_sec=0.1)\n"
        "    out.publish(trajectories.to_message(hold, 'n1'))\n"
        "print(events[0]['reason']); executor.shutdown(); rclpy.try_shutdown()\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60, env=environment
    )
    assert result.stdout.strip() == (
        "no robot listens on /lonely/fr3_arm_controller/joint_trajectory: is the robot's node running?"
    ), result.stderr


def test_the_agents_own_process_can_neither_approve_nor_act_as_the_operator(setup):
    setup.end_gate()
    setup.start_gate("approve:=motion", "separate_agent:=true")
    assert eventually(lambda: setup.agent.approve.get_subscription_count() > 0)
    setup.go("q1", by=-0.1)
    setup.wait_for("q1", "waiting")
    # From another context of this process: what a cell could do.
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("operator", context=context)
    approve = node.create_publisher(String, names.AGENT_APPROVE, qos.EVENTS)
    arm = node.create_publisher(JointTrajectory, names.OPERATOR_TRAJECTORY, qos.COMMAND_OFFERED)
    assert eventually(lambda: approve.get_subscription_count() > 0 and arm.get_subscription_count() > 0)
    for publisher in (setup.agent.approve, approve):
        publisher.publish(String(data=json.dumps({"id": "q1", "approve": True})))
    log = setup.folder / "log"
    assert eventually(lambda: log.read_text().count("it comes from the agent's own process") == 2)
    assert setup.agent.of("q1") == ["waiting"]
    assert setup.agent.call(names.GATE_TAKE_OVER).success
    arm.publish(trajectories.to_message(minimum_jerk(setup.robot.position, HOME), "q2"))
    setup.wait_for("q2", "refused")
    assert setup.agent.reason("q2") == "the agent's own process may not act as the operator"
    node.destroy_node()
    rclpy.try_shutdown(context=context)
    setup.end_gate()


def test_events_are_json_on_the_wire(setup):
    setup.go("a17", by=-0.05)
    setup.wait_for("a17", "done")
    event = [e for e in setup.agent.events if e.goal == "a17"][-1]
    assert json.loads(event.model_dump_json()) == {
        "goal": "a17",
        "event": "done",
        "reason": "",
        "source": "agent",
        "device": "arm",
    }


def test_with_approval_a_motion_waits_until_the_right_id_is_approved_and_stop_acts_at_once(setup):
    setup.end_gate()
    setup.start_gate("approve:=motion")
    before = len(setup.robot.commands)
    setup.go("p1", by=-0.1)
    setup.wait_for("p1", "waiting")
    assert eventually(lambda: setup.agent.state.waiting == "p1")
    assert eventually(lambda: setup.agent.approve.get_subscription_count() > 0)
    setup.agent.approve.publish(String(data="yes please"))
    setup.agent.approve.publish(String(data=json.dumps({"id": "p0", "approve": True})))
    setup.agent.approve.publish(String(data=json.dumps({"id": "p1", "approve": True, "comment": "fine"})))
    setup.wait_for("p1", "done")
    assert setup.agent.of("p1") == ["waiting", "accepted", "done"]
    assert len(setup.robot.commands) == before + 1
    setup.go("p2", by=0.1)
    setup.wait_for("p2", "waiting")
    setup.agent.approve.publish(
        String(data=json.dumps({"id": "p2", "approve": False, "comment": "not there"}))
    )
    setup.wait_for("p2", "refused")
    assert setup.agent.reason("p2") == "not there"
    setup.go("p3", by=0.1)
    setup.wait_for("p3", "waiting")
    assert request_stop(setup.socket, 5.0, "enough") == "stopped"
    setup.wait_for("p3", "refused")
    assert setup.agent.reason("p3") == "stopped: enough"
    assert setup.agent.call(names.GATE_RESUME).success
    setup.agent.approve.publish(String(data=json.dumps({"id": "p3", "approve": True})))
    time.sleep(0.3)
    assert setup.agent.of("p3") == ["waiting", "refused"]
    assert [message.header.frame_id for _, message in setup.robot.commands[before:]] == ["p1", ""]
    setup.end_gate()
