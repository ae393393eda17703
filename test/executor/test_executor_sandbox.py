"""What a cell cannot do, tried from inside a real kernel in its real cage."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import pyrua_ros
from pyrua_ros import paths
from pyrua_ros.executor.client import KernelClient
from pyrua_ros.executor.environment import kernel_environment
from pyrua_ros.executor.policy import kernel_policy

LONG_S = 60.0


@pytest.fixture(scope="module")
def caged(
    tmp_path_factory: pytest.TempPathFactory, short_dir: Path, ros_domain: int
) -> Iterator[KernelClient]:
    """A kernel whose parent's environment holds a key."""
    os.environ.update(OPENAI_API_KEY="sk-parent", ROS_SECRET_TOKEN="t", LANG="C.UTF-8")
    try:
        client = KernelClient("", tmp_path_factory.mktemp("run") / "workspace", short_dir)
        client.start()
    finally:
        for name in ("OPENAI_API_KEY", "ROS_SECRET_TOKEN"):
            del os.environ[name]
    yield client
    client.shutdown()


@pytest.fixture
def needs(caged: KernelClient):
    """Skip where this Linux lacks a layer, with the launcher's reason."""

    def check(layer: str, feature: str = "") -> None:
        state = caged.sandbox[layer]
        if not state.startswith("yes") or feature not in state:
            pytest.skip(f"{layer} {feature}: {state}")

    return check


def refused(client: KernelClient, code: str, error: str = "PermissionError") -> str:
    """Run `code`; it must end in `error`. Returns the error."""
    result = client.run(code, LONG_S)
    assert result.status == "error", result.text
    assert result.error is not None and result.error.startswith(error), result.text
    return result.error


def test_every_layer_is_reported(caged: KernelClient) -> None:
    assert list(caged.sandbox) == [
        "dies with its parent",
        "limits",
        "capabilities",
        "no new privileges",
        "landlock",
        "seccomp",
    ]
    assert all(state.startswith(("yes", "no: ")) for state in caged.sandbox.values())


# environment


def test_the_environment_has_no_key(caged: KernelClient) -> None:
    result = caged.run(
        "import os\nprint(sorted(os.environ))\nprint(open('/proc/self/environ').read())", LONG_S
    )
    assert result.status == "ok"
    assert "OPENAI" not in result.text and "TOKEN" not in result.text and "sk-parent" not in result.text
    assert "ROS_DOMAIN_ID" in result.text


def test_the_environment_keeps_what_ros_needs_and_nothing_else(tmp_path: Path) -> None:
    given = {
        "ROS_DOMAIN_ID": "15",
        "RMW_IMPLEMENTATION": "rmw_fastrtps_cpp",
        "LC_ALL": "C",
        "FASTDDS_DEFAULT_PROFILES_FILE": "/x.xml",
        "AWS_ACCESS_KEY_ID": "a",
        "ROS_SECURITY_KEYSTORE_PASSWORD": "p",
        "SSH_AUTH_SOCK": "/tmp/agent",
        "DISPLAY": ":0",
        "HOME": "/home/somebody",
    }
    chosen = kernel_environment(tmp_path, tmp_path, "{}", given)
    assert {n for n in given if n in chosen} == {
        "ROS_DOMAIN_ID",
        "RMW_IMPLEMENTATION",
        "LC_ALL",
        "FASTDDS_DEFAULT_PROFILES_FILE",
        "HOME",
    }
    assert (chosen["HOME"], chosen["PYRUA_SETTINGS"]) == (str(tmp_path), "{}")


# files


def test_files_of_the_user_cannot_be_read(caged: KernelClient, needs, tmp_path: Path) -> None:
    needs("landlock")
    secret = tmp_path / "api_key"
    secret.write_text("sk-file")
    for path in (secret, Path.home() / ".bashrc", Path("/etc/shadow"), Path("/etc/ssh")):
        if path.exists():
            refused(
                caged,
                f"import os\nos.listdir({str(path)!r}) if os.path.isdir({str(path)!r}) else open({str(path)!r})",
            )
    refused(caged, f"import os\nos.listdir({str(Path.home())!r})")


def test_other_processes_cannot_be_looked_into(caged: KernelClient, needs) -> None:
    needs("landlock")
    simulator = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "--seed", "7"])
    try:
        for file in ("cmdline", "environ", "maps", "status", "mem"):
            for pid in (1, os.getpid(), simulator.pid):
                refused(caged, f"open('/proc/{pid}/{file}')")
        refused(caged, "import os\nos.listdir('/proc')")
        refused(caged, f"import os\nos.listdir('/proc/{simulator.pid}/fd')")
    finally:
        simulator.kill()
        simulator.wait()


def test_its_own_process_can_be_looked_into(caged: KernelClient) -> None:
    assert caged.run("print(open('/proc/self/comm').read().strip())", LONG_S).text == "python"


def test_only_the_workspace_can_be_written(caged: KernelClient, needs, tmp_path: Path) -> None:
    needs("landlock")
    code = "from pathlib import Path\nPath('note.txt').write_text('mine')\nprint(Path.home() / 'note.txt')"
    written = Path(caged.run(code, LONG_S).text)
    assert written.read_text() == "mine"
    victim = tmp_path / "victim"
    victim.write_text("whole")
    victim.chmod(0o666)
    for code in (
        f"open({str(victim)!r}, 'w')",
        f"import os\nos.truncate({str(victim)!r}, 0)",
        f"import os\nos.remove({str(victim)!r})",
        f"import os\nos.rename({str(victim)!r}, 'taken')",
        f"import os\nos.mkdir({str(tmp_path / 'new')!r})",
        f"open({str(Path(pyrua_ros.__file__).parent / 'planted.py')!r}, 'w')",
        "open('/proc/self/oom_score_adj', 'w')",
    ):
        refused(caged, code)
    assert victim.read_text() == "whole"


def test_a_link_out_of_the_workspace_leads_nowhere(caged: KernelClient, needs, tmp_path: Path) -> None:
    needs("landlock")
    (tmp_path / "secret").write_text("x")
    refused(caged, f"import os\nos.symlink({str(tmp_path / 'secret')!r}, 'way_out')\nopen('way_out')")
    refused(caged, f"open('/proc/self/root' + {str(tmp_path / 'secret')!r})")


def test_modes_and_owners_outside_stay(caged: KernelClient, needs, tmp_path: Path) -> None:
    needs("seccomp")
    victim = tmp_path / "victim"
    victim.touch(mode=0o640)
    caged.run(f"import os\nos.chmod({str(victim)!r}, 0)", LONG_S)
    assert victim.stat().st_mode & 0o777 == 0o640
    refused(caged, f"import os\nos.chown({str(victim)!r}, 12345, 12345)")


def test_copying_files_in_the_workspace_works(caged: KernelClient) -> None:
    code = "import shutil\nopen('a', 'w').write('1')\nshutil.copy('a', 'b')\nprint(open('b').read())"
    assert caged.run(code, LONG_S).text == "1"


@pytest.mark.parametrize("part", ["backends", "evaluation"])
def test_the_simulator_and_its_scores_cannot_be_imported(caged: KernelClient, needs, part: str) -> None:
    needs("landlock")
    refused(caged, f"import pyrua_ros.{part}")
    refused(caged, f"open({str(Path(pyrua_ros.__file__).parent / part / '__init__.py')!r})")


def test_scenes_cannot_be_read(caged: KernelClient, needs) -> None:
    needs("landlock")
    scenes = [path for path in (paths.share() / "urdf" / "scenes").rglob("*") if path.is_file()]
    assert scenes
    for scene in scenes:
        refused(caged, f"open({str(scene)!r})")


def test_the_run_folder_around_the_workspace_cannot_be_read(caged: KernelClient, needs) -> None:
    needs("landlock")
    run_dir = caged._workspace.parent
    (run_dir / "events.jsonl").write_text("{}")
    refused(caged, "open('../events.jsonl')")
    refused(caged, "import os\nos.listdir('..')")


def test_what_robo_is_made_of_can_be_imported(caged: KernelClient) -> None:
    code = "import cv2, mujoco, pyrua_ros.errors, pyrua_ros.results, pyrua_ros.robot_model.profile as p\n"
    code += "print(p.load('fr3').name)"
    assert caged.run(code, LONG_S).text == "fr3"


def test_scene_files_beside_the_readable_ones_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("config/robots", "config/scenes", "urdf"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr("pyrua_ros.paths.share", lambda: tmp_path)
    policy = kernel_policy(tmp_path / "w", tmp_path / "c", {})
    assert str(tmp_path / "config" / "scenes") in policy.files.hidden
    assert str(tmp_path / "config") in policy.files.read


# network


@pytest.mark.parametrize(
    "code",
    [
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
        "socket.socket(socket.AF_INET6, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)",
        "socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)",
        "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)",
        "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
        "socket.create_connection(('127.0.0.1', 80))",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('127.0.0.1', 53))",
        "__import__('urllib.request').request.urlopen('http://127.0.0.1/')",
    ],
)
def test_no_way_out_but_udp_datagrams(caged: KernelClient, needs, code: str) -> None:
    needs("seccomp")
    error = "URLError" if "urlopen" in code else "PermissionError"
    refused(caged, f"import socket\n{code}", error)


def test_unix_sockets_of_other_programs_cannot_be_reached(caged: KernelClient, needs) -> None:
    needs("seccomp")
    gate = str(caged.connection_file.parent.parent / "gate.sock")
    refused(caged, f"import socket\nsocket.socket(socket.AF_UNIX).connect({gate!r})")


# processes


def test_no_process_can_be_started(caged: KernelClient, needs) -> None:
    needs("seccomp")
    refused(caged, "import subprocess\nsubprocess.run(['/bin/true'])")
    refused(caged, "import os\nos.fork()")
    refused(caged, "import multiprocessing\nmultiprocessing.Process(target=print).start()")


def test_threads_can_be_started(caged: KernelClient) -> None:
    code = "from concurrent.futures import ThreadPoolExecutor\nprint(list(ThreadPoolExecutor(4).map(abs, [-1, 2])))"
    assert caged.run(code, LONG_S).text == "[1, 2]"


def test_other_processes_cannot_be_signalled(caged: KernelClient, needs) -> None:
    if not caged.sandbox["seccomp"].startswith("yes"):
        needs("landlock", "signals")
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        for pid in (other.pid, os.getpid()):
            for number in (0, 9, 19):
                refused(caged, f"import os\nos.kill({pid}, {number})")
        time.sleep(0.1)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize(
    "code",
    [
        "resource.prlimit({pid}, resource.RLIMIT_NOFILE, (3, 3))",
        "os.sched_setaffinity({pid}, [0])",
        "os.sched_setscheduler({pid}, os.SCHED_IDLE, os.sched_param(0))",
        "os.setpriority(os.PRIO_PROCESS, {pid}, 19)",
        "os.setpriority(os.PRIO_USER, 0, 19)",
    ],
)
def test_other_processes_cannot_be_slowed_down(caged: KernelClient, needs, code: str) -> None:
    needs("seccomp")
    refused(caged, "import os, resource\n" + code.format(pid=os.getpid()))


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("ptrace", "16, {pid}, 0, 0"),
        ("unshare", "0x10000000"),
        ("mount", "0, 0, 0, 0, 0"),
        ("bpf", "0, 0, 0"),
        ("keyctl", "0, 0, 0, 0, 0"),
        ("io_uring_setup", "1, 0"),
        ("userfaultfd", "0"),
        ("perf_event_open", "0, 0, 0, 0, 0"),
        ("process_vm_readv", "{pid}, 0, 0, 0, 0, 0"),
        ("pidfd_send_signal", "0, 0, 0, 0"),
        ("setns", "0, 0"),
    ],
)
def test_dangerous_system_calls_are_refused(caged: KernelClient, needs, call: str, arguments: str) -> None:
    needs("seccomp")
    sc = pytest.importorskip("pyseccomp")
    number = sc.resolve_syscall(sc.Arch.NATIVE, call)
    code = (
        "import ctypes, errno\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"r = libc.syscall({number}, {arguments.format(pid=os.getpid())})\n"
        "print(r, errno.errorcode[ctypes.get_errno()])"
    )
    assert caged.run(code, LONG_S).text == "-1 EPERM"


def test_the_tie_to_its_parent_cannot_be_cut(caged: KernelClient, needs) -> None:
    needs("seccomp")
    code = "import ctypes\nprint(ctypes.CDLL(None).prctl(1, 0, 0, 0, 0))"
    assert caged.run(code, LONG_S).text == "-1"


def test_root_keeps_no_power_but_over_file_modes(caged: KernelClient) -> None:
    code = "print([l.split()[1] for l in open('/proc/self/status') if l.startswith(('CapEff', 'CapBnd'))])"
    effective, bound = eval(caged.run(code, LONG_S).text)
    assert int(effective, 16) in (0, 0b10)
    if os.geteuid() == 0:
        assert int(bound, 16) == 0b10


def test_a_file_cannot_fill_the_disk(caged: KernelClient) -> None:
    error = refused(caged, "f = open('big', 'wb')\nf.truncate(1 << 40)", "OSError")
    assert "File too large" in error


# what must go on working


def test_ros_topics_work_inside_the_cage(caged: KernelClient, ros_domain: int) -> None:
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from std_msgs.msg import String

    connect = (
        "import rclpy, time\n"
        "from rclpy.signals import SignalHandlerOptions\n"
        "from std_msgs.msg import String\n"
        "rclpy.init(signal_handler_options=SignalHandlerOptions.NO)\n"
        "node = rclpy.create_node('inside')\n"
        "heard = []\n"
        "sub = node.create_subscription(String, 'to_cell', lambda m: heard.append(m.data), 10)\n"
        "pub = node.create_publisher(String, 'from_cell', 10)\n"
    )
    assert caged.run(connect, LONG_S).status == "ok"
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("outside", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    heard: list[str] = []
    publisher = node.create_publisher(String, "to_cell", 10)
    # As large as several datagrams: it goes through shared memory where that works.
    node.create_subscription(String, "from_cell", lambda m: heard.append(m.data), 10)
    try:
        deadline = time.monotonic() + 30
        while not heard and time.monotonic() < deadline:
            publisher.publish(String(data="ping"))
            spin = "rclpy.spin_once(node, timeout_sec=0.2)\nif heard: pub.publish(String(data=heard[-1] * 50_000))"
            assert caged.run(spin, LONG_S).status == "ok"
            executor.spin_once(timeout_sec=0.2)
        assert heard[0] == "ping" * 50_000
    finally:
        caged.run("rclpy.shutdown()", LONG_S)
        node.destroy_node()
        executor.shutdown()
        rclpy.shutdown(context=context)


def test_a_missing_layer_is_left_out_and_named(tmp_path: Path, short_dir: Path) -> None:
    client = KernelClient("", tmp_path / "w", short_dir, without=("seccomp", "landlock"))
    client.start()
    try:
        assert client.sandbox["seccomp"] == client.sandbox["landlock"] == "no: switched off"
        assert client.run("import socket\nsocket.socket().close()\nprint('open')", LONG_S).text == "open"
        # A process that left the group still ends with the kernel.
        started = client.run(
            "import subprocess\nchild = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
            "print(child.pid)",
            LONG_S,
        )
    finally:
        client.shutdown(timeout_s=0.0)
    assert not Path(f"/proc/{started.text}").exists() or "Z" in Path(f"/proc/{started.text}/stat").read_text()


def test_signals_are_filtered_where_landlock_cannot_scope_them(tmp_path: Path, short_dir: Path) -> None:
    client = KernelClient("", tmp_path / "w", short_dir, without=("landlock",))
    client.start()
    try:
        if not client.sandbox["seccomp"].startswith("yes"):
            pytest.skip(client.sandbox["seccomp"])
        assert client.sandbox["seccomp"] == "yes: with signals"
        refused(client, f"import os\nos.kill({os.getpid()}, 0)")
        refused(client, "import os\nos.kill(-1, 0)")
        assert client.run("import os\nos.kill(os.getpid(), 0)\nprint('self')", LONG_S).text == "self"
        assert client.run("while True: pass", 0.2).status == "interrupted"
    finally:
        client.shutdown()
