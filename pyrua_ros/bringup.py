"""The graph of processes, once, as data: the command line and the launch files both start it from here."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyrua_ros import paths
from pyrua_ros.arguments import Argument, Arguments, UsageError, arguments, describe, from_texts, parse

__all__ = [
    "Argument",
    "Arguments",
    "Process",
    "Runtime",
    "UsageError",
    "arguments",
    "check",
    "describe",
    "environment",
    "from_texts",
    "graph",
    "parse",
    "planner_of",
    "robot_graph",
]

Param = str | int | float | bool

#: For planners that need no instruction to begin.
_TASKS = {"manual": "what is typed at the terminal", "replay": "the same cells again"}

#: Distributions whose Fast DDS 2 reads its profile from the older variable.
_FASTDDS_2 = ("humble", "iron", "jazzy")


@dataclass(frozen=True)
class Runtime:
    """Where this run lives."""

    domain: int
    folder: Path  # short and private: sockets, the kernel's connection file
    run_dir: Path
    exit_when_done: bool = False
    ros_packages: frozenset[str] = frozenset()  # of the optional ones, those that this install has

    @property
    def gate_socket(self) -> Path:
        """Where `pyrua stop` reaches the gate."""
        return self.folder / "gate.sock"


@dataclass(frozen=True)
class Process:
    """One process of the graph."""

    name: str
    executable: str  # name for `ros2 run`
    module: str | None = None  # for `python -m`; None when it is another package's program
    package: str = "pyrua_ros"
    params: Mapping[str, Param] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    required: bool = True  # the whole graph stops when it ends
    grace_s: float = 3.0  # from SIGTERM to SIGKILL
    interactive: bool = False  # talks with the person at the terminal
    secrets: bool = False  # sees the API key
    control: bool = False  # gets `--control-fd`, over which the score is asked


def planner_of(args: Arguments) -> str | None:
    """Which planner runs, None when none does."""
    if args.planner == "auto":
        return "builtin" if args.task else None
    return None if args.planner == "none" else args.planner


def environment(runtime: Runtime) -> dict[str, str]:
    """Say what every process of the graph gets on top of the caller's environment."""
    profile = str(paths.share() / "config" / "fastdds.xml")
    older = os.environ.get("ROS_DISTRO", "") in _FASTDDS_2
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        "ROS_DOMAIN_ID": str(runtime.domain),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        **({"ROS_LOCALHOST_ONLY": "1"} if os.environ.get("ROS_DISTRO") == "humble" else {}),
        "RMW_IMPLEMENTATION": "rmw_fastrtps_cpp",
        ("FASTRTPS_DEFAULT_PROFILES_FILE" if older else "FASTDDS_DEFAULT_PROFILES_FILE"): profile,
        "MUJOCO_GL": "disabled",  # kinematics everywhere; the simulator makes its own context to render
        "PYTHONUNBUFFERED": "1",
        "ROS_LOG_DIR": str(runtime.run_dir / "log"),
        "RCUTILS_CONSOLE_OUTPUT_FORMAT": os.environ.get(
            "RCUTILS_CONSOLE_OUTPUT_FORMAT", "{severity} {message}"
        ),
        "RCUTILS_COLORIZED_OUTPUT": "0",
        **threads,
        **_wheel_libraries(),
    }


def _wheel_libraries() -> dict[str, str]:
    """Spare each process the second start with which the ROS wheels find their libraries."""
    site = (
        Path(sys.prefix)
        / "lib"
        / f"python{sys.version_info.major}.{sys.version_info.minor}"
        / "site-packages"
    )
    folders = [str(folder) for folder in sorted(site.glob("ros_*.libs"))]
    if not folders:
        return {}
    inherited = [part for part in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if part]
    parts = dict.fromkeys([*folders, str(Path(sys.prefix) / "lib"), *inherited])
    return {"LD_LIBRARY_PATH": os.pathsep.join(parts), "_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1"}


def check(args: Arguments, ros_packages: frozenset[str]) -> None:
    """Find what cannot work before anything is started.

    Raises
    ------
    UsageError
        This machine, or this backend, cannot do what was asked for.
    ConfigError
        A configuration file is broken.
    """
    from pyrua_ros.backends.mujoco import scenes
    from pyrua_ros.robot_model import profile
    from pyrua_ros.wire import config

    config.cameras()
    scenes.load(args.scene, args.task_id, args.seed)
    if profile.load(args.robot).mjcf is None:
        able = [name for name in profile.robots() if profile.load(name).mjcf is not None]
        raise UsageError(f"robot:={args.robot} has no simulator model; there are: {', '.join(able)}")
    if args.rviz and "rviz2" not in ros_packages:
        raise UsageError(
            "rviz:=true needs rviz2: source a ROS 2 install that has it (apt: ros-<distro>-rviz2)"
        )
    if args.replay and not Path(args.replay).expanduser().exists():
        raise UsageError(f"replay:={args.replay}: no such run folder or file")


def graph(args: Arguments, runtime: Runtime) -> tuple[Process, ...]:
    """List the processes in the order in which they start; they stop in the reverse one."""
    planner = planner_of(args)
    found = [*robot_graph(args, runtime), _gate(args, runtime)]
    if planner is not None:
        found.append(_planner(args, runtime, planner))
    if args.rviz:
        view = ("-d", str(paths.share() / "config" / "agent.rviz"))
        found.append(Process("rviz", "rviz2", package="rviz2", args=view, required=False))
    return tuple(found)


def robot_graph(args: Arguments, runtime: Runtime) -> tuple[Process, ...]:
    """Only the robot, and what describes it to others."""
    return (*_description(args, runtime), _robot(args))


def _simulated_time(args: Arguments) -> bool:
    """Whether ROS time is the simulator's: on a busy machine it falls behind the wall, and nobody may notice."""
    return args.backend == "mujoco"


def _robot(args: Arguments) -> Process:
    return Process(
        name="mujoco",
        executable="mujoco",
        module="pyrua_ros.backends.mujoco.node",
        params={"robot": args.robot, "scene": args.scene, "rtf": float(args.rtf), "render": args.render},
        args=("--seed", str(args.seed), *(("--task-id", args.task_id) if args.task_id else ())),
        control=True,
    )


def _gate(args: Arguments, runtime: Runtime) -> Process:
    return Process(
        name="gate",
        executable="gate",
        module="pyrua_ros.gate.node",
        params={
            "robot": args.robot,
            "run_dir": str(runtime.run_dir),
            "socket": str(runtime.gate_socket),
            "start_stopped": False,
            "separate_agent": True,
            "use_sim_time": _simulated_time(args),
        },
        grace_s=5.0,
    )


def _planner(args: Arguments, runtime: Runtime, planner: str) -> Process:
    optional: dict[str, Param | None] = {
        "model": args.model,
        "base_url": args.base_url,
        "api": args.api,
        "replay": str(Path(args.replay).expanduser().resolve()) if args.replay else None,
        "max_calls": args.max_calls,
        "max_tokens": args.max_tokens,
        "max_dollars": args.max_dollars,
        "max_seconds": args.max_seconds,
    }
    return Process(
        name="planner",
        executable="planner",
        module="pyrua_ros.planner.node",
        params={
            "robot": args.robot,
            "scene": args.scene,
            "planner": planner,
            "task": args.task or _TASKS.get(planner, ""),
            "run_dir": str(runtime.run_dir),
            "exit_when_done": runtime.exit_when_done,
            "use_sim_time": _simulated_time(args),
            **{name: value for name, value in optional.items() if value is not None},
        },
        grace_s=8.0,
        interactive=planner == "manual",
        secrets=True,
    )


def _description(args: Arguments, runtime: Runtime) -> list[Process]:
    """`robot_description` and TF for RViz and others; our own processes need neither."""
    if "robot_state_publisher" not in runtime.ros_packages:
        return []
    from pyrua_ros.robot_model import assets, profile

    text = assets.urdf_text(profile.load(args.robot), table=True).replace('filename="/', 'filename="file:///')
    state_publisher = Process(
        name="description",
        executable="robot_state_publisher",
        package="robot_state_publisher",
        params={"robot_description": text, "use_sim_time": _simulated_time(args)},
        required=False,
    )
    return [state_publisher, *(_camera_frames() if "tf2_ros" in runtime.ros_packages else [])]


def _camera_frames() -> list[Process]:
    from pyrua_ros.wire import config

    found = []
    for camera in config.cameras().cameras:
        numbers = dict(zip(("x", "y", "z", "qx", "qy", "qz", "qw"), (*camera.xyz, *camera.quat), strict=True))
        words = [word for name, value in numbers.items() for word in (f"--{name}", repr(value))]
        frames = ("--frame-id", camera.link, "--child-frame-id", f"{camera.name}_color_optical_frame")
        found.append(
            Process(
                name=f"{camera.name}_frame",
                executable="static_transform_publisher",
                package="tf2_ros",
                args=(*words, *frames),
                required=False,
            )
        )
    return found
