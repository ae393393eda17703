"""ROS: which one, whether two processes find each other, and who else is on the network."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterable

from pyrua_ros import bringup, domain
from pyrua_ros.bringup import Runtime
from pyrua_ros.doctor.finding import Check, Finding, try_python
from pyrua_ros.running import installed_ros_packages

_DISCOVERY_S = 20.0

_TALK = """
import sys, time, rclpy
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node("doctor_" + sys.argv[1])
end = time.monotonic() + float(sys.argv[2])
if sys.argv[1] == "talks":
    publisher = node.create_publisher(String, "doctor", 1)
    while time.monotonic() < end:
        publisher.publish(String(data="hello"))
        rclpy.spin_once(node, timeout_sec=0.05)
else:
    heard = []
    node.create_subscription(String, "doctor", lambda message: heard.append(message.data), 1)
    while time.monotonic() < end and not heard:
        rclpy.spin_once(node, timeout_sec=0.05)
    sys.exit(0 if heard == ["hello"] else "nothing heard")
"""


def ros_install() -> Iterable[Finding]:
    """Which ROS 2 is used, and whether rclpy and its middleware load."""
    sourced = os.environ.get("ROS_DISTRO") if os.environ.get("AMENT_PREFIX_PATH") else None
    if importlib.util.find_spec("rclpy") is None:
        fix = "run ./pyrua (it installs rclpy from PyPI), or source /opt/ros/<distro>/setup.bash"
        yield Finding(
            "ROS 2", "fail", f"no rclpy{f', although {sourced} is sourced' if sourced else ''}", fix
        )
        return
    try:
        origin = f"wheels from PyPI, rclpy {importlib.metadata.version('ros-rclpy')}"
    except importlib.metadata.PackageNotFoundError:
        origin = "rclpy without a ROS 2 that is sourced"
    worked, text = try_python(
        "import rclpy; from rclpy.utilities import get_rmw_implementation_identifier as rmw; print(rmw())",
        env={"RMW_IMPLEMENTATION": "rmw_fastrtps_cpp"},
    )
    if not worked:
        yield Finding(
            "ROS 2", "fail", text, "install ros-<distro>-rmw-fastrtps-cpp, or remove .venv and run ./pyrua"
        )
        return
    extra = ", ".join(sorted(installed_ros_packages())) or "none: no RViz, no TF"
    yield Finding(
        "ROS 2", "ok", f"{f'{sourced}, sourced' if sourced else origin}; {text}; optional packages: {extra}"
    )


def discovery() -> Iterable[Finding]:
    """Whether a message gets from one process to another on a free domain."""
    if importlib.util.find_spec("rclpy") is None:
        return
    taken = domain.acquire()
    try:
        env = {**os.environ, **bringup.environment(Runtime(taken.id, taken.folder, taken.folder))}
        began = time.monotonic()
        talker, listener = (
            subprocess.Popen(
                [sys.executable, "-c", _TALK, role, str(_DISCOVERY_S)],
                env=env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for role in ("talks", "listens")
        )
        try:
            _, errors = listener.communicate(timeout=_DISCOVERY_S + 10.0)
        finally:
            for child in (talker, listener):
                child.terminate()
                child.wait()
        seconds = time.monotonic() - began
    finally:
        taken.release()
    if listener.returncode == 0:
        yield Finding(
            "ROS discovery", "ok", f"two processes exchanged a message within {seconds:.1f} s of their start"
        )
        return
    reason = errors.strip().splitlines()[-1] if errors.strip() else "no reason given"
    fix = "look at /dev/shm above; a firewall must let UDP through on the loopback interface"
    yield Finding(
        "ROS discovery", "fail", f"two processes on this host did not hear each other: {reason}", fix
    )


def others() -> Iterable[Finding]:
    """Who else uses ROS on this host, and which of our runs are alive."""
    default = int(os.environ.get("ROS_DOMAIN_ID") or 0)
    if domain.in_use(default):
        text = f"somebody on this host uses ROS domain {default}; runs of pyrua take a free one and do not hear it"
        yield Finding("other ROS programs", "info", text)
    for run in domain.live_runs():
        yield Finding(
            "live run", "info", f"domain {run.domain}, pid {run.pid}, {run.run_dir}", "`pyrua stop` stops it"
        )


CHECKS: tuple[Check, ...] = (ros_install, discovery, others)
