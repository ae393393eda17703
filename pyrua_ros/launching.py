"""The graph as a launch description; only the launch files import this, because only ROS 2 installs have launch."""

from __future__ import annotations

import atexit
from collections.abc import Callable

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessStart
from launch.events.process import ProcessStarted
from launch.launch_description_entity import LaunchDescriptionEntity
from launch_ros.actions import Node

from pyrua_ros import bringup, domain, remains
from pyrua_ros.bringup import Arguments, Process, Runtime, UsageError
from pyrua_ros.domain import Domain
from pyrua_ros.janitor import Janitor
from pyrua_ros.running import installed_ros_packages, new_run_dir

Select = Callable[[Arguments, Runtime], tuple[Process, ...]]


def describe(select: Select) -> LaunchDescription:
    """Every argument of `bringup`, and the processes that `select` chooses."""
    declared = [
        DeclareLaunchArgument(
            argument.name,
            default_value="" if argument.default is None else str(argument.default).lower(),
            description=argument.description,
            choices=argument.choices if argument.default in argument.choices else None,
        )
        for argument in bringup.arguments()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_start, kwargs={"select": select})])


def _start(context: LaunchContext, select: Select) -> list[LaunchDescriptionEntity]:
    names = [argument.name for argument in bringup.arguments()]
    given = {name: context.launch_configurations[name] for name in names}
    args = bringup.from_texts({name: text for name, text in given.items() if text != ""})
    if bringup.planner_of(args) == "manual":
        raise UsageError("planner:=manual needs a terminal: ros2 run pyrua_ros pyrua up planner:=manual")
    packages = installed_ros_packages()
    bringup.check(args, packages)
    taken = domain.acquire(args.domain)
    atexit.register(_clean, taken)
    runtime = Runtime(taken.id, taken.folder, new_run_dir(args), ros_packages=packages)
    (runtime.run_dir / "log").mkdir(exist_ok=True)
    taken.announce(runtime.run_dir, args.task)
    janitor = Janitor(taken.folder, taken.lock_file)
    atexit.register(janitor.dismiss)
    return [
        LogInfo(msg=f"ROS domain {taken.id}, this host only: export ROS_DOMAIN_ID={taken.id}"),
        LogInfo(msg=f"records: {runtime.run_dir}"),
        RegisterEventHandler(OnProcessStart(on_start=lambda event, _: _watch(janitor, event))),
        *(_node(process, runtime, context) for process in select(args, runtime)),
    ]


def _watch(janitor: Janitor, event: ProcessStarted) -> None:
    janitor.watch(event.pid)


def _clean(taken: Domain) -> None:
    taken.release()
    remains.clean_shared_memory()


def _node(process: Process, runtime: Runtime, context: LaunchContext) -> Node:
    env = {**context.environment, **bringup.environment(runtime), **process.env}
    if not process.secrets:
        env = {name: text for name, text in env.items() if not name.startswith("OPENAI_")}
    return Node(
        package=process.package,
        executable=process.executable,
        parameters=[dict(process.params)] if process.params else None,
        arguments=list(process.args),
        env=env,
        output="screen",
        cwd=str(runtime.run_dir),
        sigterm_timeout=str(process.grace_s),
        on_exit=[Shutdown(reason=f"{process.name} ended")] if process.required else None,
    )
