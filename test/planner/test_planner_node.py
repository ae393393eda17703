from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import CompressedImage, Image, JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from pyrua_ros.evaluation.endpoint import Endpoint, cell, finish
from pyrua_ros.planner.node import main
from pyrua_ros.planner.observer import Observer
from pyrua_ros.planner.parameters import Parameters
from pyrua_ros.planner.settings import planner_settings
from pyrua_ros.planner.task_run import TaskRun
from pyrua_ros.primitives.settings import Settings
from pyrua_ros.robot_model.profile import load
from pyrua_ros.wire import names, qos
from pyrua_ros.wire.gate import GateEvent, GateState
from pyrua_ros.wire.images import encode_color

PROFILE = load("fr3")


class Graph:
    """A gate and a robot that only talk, and ears on agent/*."""

    def __init__(self) -> None:
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = Node("graph", context=self.context, start_parameter_services=False)
        self.mode, self.holds = "agent", 0
        self.status: list[tuple[str, dict[str, str]]] = []
        self.cells: list[str] = []
        self.outputs: list[str] = []
        self.frames: list[bytes] = []
        create = self.node.create_publisher
        self._joints = create(JointState, names.JOINT_STATES, 10)
        self._gate = create(DiagnosticStatus, names.GATE_STATE, qos.LATCHED)
        self._events = create(String, names.GATE_EVENTS, qos.EVENTS)
        self._image = create(Image, names.color("front"), qos.SENSOR)
        self.task = create(String, names.AGENT_TASK, qos.EVENTS)
        self.cancel = self.node.create_client(Trigger, names.AGENT_CANCEL)
        self.node.create_service(Trigger, names.GATE_HOLD, self._on_hold)
        listen = self.node.create_subscription
        listen(DiagnosticArray, names.AGENT_STATUS, self._on_status, qos.LATCHED)
        listen(String, names.AGENT_CELL, lambda m: self.cells.append(m.data), qos.EVENTS)
        listen(String, names.AGENT_OUTPUT, lambda m: self.outputs.append(m.data), qos.EVENTS)
        listen(CompressedImage, names.AGENT_FRAMES, lambda m: self.frames.append(bytes(m.data)), qos.EVENTS)
        self.node.create_timer(0.02, self._on_joints_timer)
        self.node.create_timer(0.2, self._on_slow_timer)
        self._start = time.monotonic()
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        try:
            while self.context.ok():
                self._executor.spin_once(timeout_sec=0.1)
        except ExternalShutdownException:
            pass

    def _on_hold(self, request, response):
        self.holds += 1
        response.success = True
        return response

    def _on_status(self, message) -> None:
        status = message.status[0]
        self.status.append((status.message, {kv.key: kv.value for kv in status.values}))

    def _on_joints_timer(self) -> None:
        moved = 0.1 * (time.monotonic() - self._start)
        joints, fingers = list(PROFILE.arm.joints), list(PROFILE.gripper.joints)
        self._joints.publish(JointState(name=fingers + joints, position=[0.02, 0.02] + [moved] * len(joints)))

    def _on_slow_timer(self) -> None:
        state = GateState(mode=self.mode, why="the button", who="tester", boot_id="1")
        self._gate.publish(state.to_message())
        self._events.publish(String(data=GateEvent(goal="g", event="accepted").model_dump_json()))
        self._image.publish(encode_color(np.full((48, 64, 3), 90, np.uint8)))

    def wait(self, condition, timeout_s: float = 60.0) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.02)

    def close(self) -> None:
        rclpy.shutdown(context=self.context)
        self._thread.join(2.0)


@pytest.fixture
def graph(ros_domain):
    graph = Graph()
    yield graph
    graph.close()


@pytest.fixture
def planner(tmp_path, ros_domain):
    """Start the node: `planner(cells=[…], name=value, …)`."""
    started: list[subprocess.Popen[str]] = []

    def start(cells=(), **parameters):
        folder = tmp_path / "cells"
        folder.mkdir(exist_ok=True)
        for number, code in enumerate(cells, start=1):
            (folder / f"{number:03d}.py").write_text(code)
        values = {"planner": "replay", "replay": folder, "run_dir": tmp_path / "run", **parameters}
        words = [
            word for name, value in values.items() if value is not None for word in ("-p", f"{name}:={value}")
        ]
        process = subprocess.Popen(
            [sys.executable, "-m", "pyrua_ros.planner.node", "--ros-args", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def result_of(folder: Path) -> dict:
    return json.loads((folder / "result.json").read_text())


#: What a killed run may have left in this domain's folder before these tests began.
_STARTED = time.time()


def kernels(domain: int) -> list[Path]:
    """Folders of kernels that these tests started."""
    folder = Path(f"/tmp/pyrua-{os.getuid()}/{domain}")
    return [path for path in folder.glob("kernel-*") if path.stat().st_mtime >= _STARTED]


def test_the_task_of_the_parameter_runs_and_leaves_a_whole_record(planner, graph, tmp_path, ros_domain):
    process = planner(
        ["x = 6 * 7\nprint('answer', x)\nrobo.show(np.zeros((20, 30, 3), np.uint8), label='black')", "x / 0"],
        task="count up",
        exit_when_done="true",
    )
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    run = tmp_path / "run"
    result = result_of(run)
    assert (result["status"], result["task"], result["cells"]) == ("done", "count up", 2)
    assert result["first_motion_s"] > 0
    assert "answer 42" in (run / "report.html").read_text()
    assert len((run / "joint_states.csv").read_text().splitlines()) > 5
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert {"kernel", "gate", "outcome", "finished"} <= {event["event"] for event in events}
    assert "cell 2: error" in out
    assert "ZeroDivisionError" in out
    assert graph.cells[0].startswith("x = 6 * 7")
    assert "answer 42" in graph.outputs[0]
    frames = sorted((run / "frames").iterdir())
    assert [frame.read_bytes() for frame in frames] == graph.frames
    assert len(frames) == 1
    phase, values = graph.status[-1]
    assert (phase, values["llm_calls"]) == ("done", "3")
    assert kernels(ros_domain) == []


def test_a_second_task_is_refused_and_a_cancel_holds_and_frees_the_node(planner, graph, tmp_path):
    planner(["print('sleeping')\nimport time\ntime.sleep(60)"])
    graph.wait(lambda: graph.status and graph.task.get_subscription_count() > 0)
    graph.task.publish(String(data="first task"))
    graph.wait(lambda: graph.cells)
    graph.task.publish(String(data="second task"))
    graph.wait(lambda: "refused" in graph.status[-1][1])
    assert "busy with another task; not taken: second task" in graph.status[-1][1]["refused"]
    graph.cancel.wait_for_service(5.0)
    future = graph.cancel.call_async(Trigger.Request())
    graph.wait(future.done)
    assert future.result().success
    graph.wait(lambda: graph.status[-1][0] == "cancelled")
    assert graph.holds >= 1
    graph.wait(lambda: (tmp_path / "run" / "report.html").exists())
    assert result_of(tmp_path / "run")["status"] == "cancelled"
    graph.task.publish(String(data="third task"))
    graph.wait(lambda: (tmp_path / "run" / "task-002" / "events.jsonl").exists())


def test_a_stop_ends_the_task_and_says_how_to_go_on(planner, graph, tmp_path):
    process = planner(["import time\ntime.sleep(60)"], task="wait", exit_when_done="true")
    graph.wait(lambda: graph.cells)
    graph.mode = "stopped"
    assert process.wait(60) == 2
    result = result_of(tmp_path / "run")
    assert result["status"] == "stopped"
    assert "the robot was stopped by tester: the button" in result["summary"]
    assert "gate/resume" in result["summary"]


def test_a_signal_in_a_cell_holds_stops_the_kernel_and_writes_the_result(
    planner, graph, tmp_path, ros_domain
):
    process = planner(["while True:\n    pass"], task="spin", exit_when_done="true")
    graph.wait(lambda: graph.cells)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert graph.holds >= 1
    result = result_of(tmp_path / "run")
    assert (result["status"], result["summary"]) == ("cancelled", "interrupted by SIGTERM")
    assert kernels(ros_domain) == []


def test_a_stopped_gate_ends_the_task_before_anything_runs(planner, graph, tmp_path):
    graph.mode = "stopped"
    process = planner(["print(1)"], task="wait", exit_when_done="true")
    assert process.wait(60) == 2
    assert graph.cells == []
    result = result_of(tmp_path / "run")
    assert result["status"] == "stopped"
    assert "gate/resume" in result["summary"]


def test_with_a_model_over_http_a_second_task_is_refused_and_a_kill_leaves_nothing(planner, graph, tmp_path):
    motion = "print('moving')\nimport time\ntime.sleep(60)"
    with Endpoint([cell(motion), finish()]) as server:
        process = planner(
            planner="openai", base_url=server.base_url, api="responses", model="scripted", replay=None
        )
        graph.wait(lambda: graph.status and graph.task.get_subscription_count() > 0)
        graph.task.publish(String(data="first task"))
        graph.wait(lambda: graph.cells)
        graph.task.publish(String(data="second task"))
        graph.wait(lambda: "refused" in graph.status[-1][1])
        assert "not taken: second task" in graph.status[-1][1]["refused"]
        assert [request.api for request in server.requests] == ["responses"]
        assert "first task" in server.requests[0].text
        assert kernel_processes(tmp_path)
        process.kill()
        process.wait(10)
    graph.wait(lambda: not kernel_processes(tmp_path))
    events = (tmp_path / "run" / "events.jsonl").read_text()
    assert json.loads(events.splitlines()[0])


def kernel_processes(folder: Path) -> list[str]:
    """Processes whose command line or working folder is of this test's run."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            where = os.readlink(path / "cwd")
        except OSError:
            continue
        ours = "ipykernel" in line or "pyrua_ros.executor" in line
        if ours and where.startswith(str(folder)):
            found.append(line)
    return found


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"planner": "gpt"}, "unknown planner 'gpt'; there are: builtin, openai, replay, manual"),
        ({"robot": "ur5"}, "unknown robot 'ur5'; there are: fr3"),
        ({"max_calls": "-3"}, "parameter max_calls:=-3"),
        ({"api": "soap"}, "parameter api:=soap"),
    ],
)
def test_what_does_not_exist_is_one_line_that_lists_what_does(parameters, words, ros_domain, capfd):
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        code = main(
            [
                "--ros-args",
                *(word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")),
            ]
        )
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert code == 1
    lines = [line for line in capfd.readouterr().err.splitlines() if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith("planner: ")
    assert words in lines[0]


class Alone:
    """No gate, no robot."""

    gate = None
    joints_alive = False
    recording = None

    def film(self, camera):
        pass

    def hold(self):
        pass


def test_without_gate_and_robot_the_task_ends_with_what_is_missing(tmp_path):
    (tmp_path / "a.py").write_text("print(1)")
    task = TaskRun(
        "do it",
        tmp_path / "run",
        Parameters(planner="replay", replay=str(tmp_path / "a.py")),
        planner_settings().model_copy(update={"start_timeout_s": 0.3}),
        PROFILE,
        Alone(),
        Observer(),
        lambda line: None,
        Settings(),
    )
    outcome = task.run()
    assert outcome.status == "error"
    assert "no gate on gate/state and no robot on joint_states within 0.3 s" in outcome.summary
    assert result_of(tmp_path / "run")["status"] == "error"
    assert (tmp_path / "run" / "report.html").exists()
