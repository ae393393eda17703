"""One run from start to end: a domain, a run folder, the supervised graph, and nothing left afterwards."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import sys
import threading
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pyrua_ros import bringup, domain, remains
from pyrua_ros.bringup import Arguments, Runtime, UsageError
from pyrua_ros.supervisor import Echo, Supervisor

if TYPE_CHECKING:
    from pyrua_ros.backends.mujoco.control import ControlClient

_OPTIONAL_PACKAGES = ("robot_state_publisher", "tf2_ros", "rviz2")
_COLORS = (36, 33, 35, 32, 34, 31)


class Run:
    """A graph that runs."""

    def __init__(self, args: Arguments, runtime: Runtime, supervisor: Supervisor) -> None:
        self.args = args
        self.runtime = runtime
        self.supervisor = supervisor

    @cached_property
    def control(self) -> ControlClient:
        """Asks the simulator for the score and for ground truth."""
        from pyrua_ros.backends.mujoco.control import ControlClient

        if self.supervisor.control is None:
            raise RuntimeError("this run has no simulator to ask")
        return ControlClient(self.supervisor.control)


def installed_ros_packages() -> frozenset[str]:
    """Which of the packages that we can do without this ROS 2 install has."""
    if importlib.util.find_spec("ament_index_python") is None:
        return frozenset()
    from ament_index_python.packages import get_package_prefix

    found = set()
    for name in _OPTIONAL_PACKAGES:
        with contextlib.suppress(LookupError, OSError):
            get_package_prefix(name)
            found.add(name)
    return frozenset(found)


def new_run_dir(args: Arguments) -> Path:
    """Make the folder of a run: `run_dir:=…`, or a new one under `runs/` here."""
    if args.run_dir is not None:
        chosen = Path(args.run_dir).expanduser().resolve()
        return _make(chosen, exist_ok=True)
    slug = re.sub(r"[^a-z0-9]+", "-", (args.task or args.scene).lower()).strip("-")[:40].strip("-")
    base = Path.cwd() / "runs" / "-".join(part for part in (time.strftime("%Y%m%d-%H%M%S"), slug) if part)
    for attempt in range(1, 1000):
        folder = base if attempt == 1 else base.with_name(f"{base.name}-{attempt}")
        with contextlib.suppress(FileExistsError):
            return _make(folder, exist_ok=False)
    raise UsageError(f"{base} and 999 others exist: name another folder with run_dir:=…")


def _make(folder: Path, *, exist_ok: bool) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=exist_ok)
    except FileExistsError:
        if exist_ok:
            raise UsageError(f"run_dir: {folder} is not a folder") from None
        raise
    except OSError as error:
        raise UsageError(
            f"run_dir: cannot make {folder}: {error.strerror}; name another with run_dir:=…"
        ) from None
    return folder


def console(names: tuple[str, ...]) -> Echo:
    """Print lines with the name of the process in front, in colour on a terminal."""
    width = max(map(len, names), default=0)
    colored = sys.stdout.isatty()
    lock = threading.Lock()

    def echo(name: str, line: str) -> None:
        label = f"[{name}]".ljust(width + 2)
        if colored:
            label = f"\033[{_COLORS[names.index(name) % len(_COLORS)]}m{label}\033[0m"
        with lock, contextlib.suppress(OSError, ValueError):
            print(f"{label} {line}", flush=True)

    return echo


@contextlib.contextmanager
def running(args: Arguments, *, exit_when_done: bool = False, show: bool = True) -> Iterator[Run]:
    """Run the graph of `args` for the length of the block.

    Raises
    ------
    UsageError, DomainError
        Before anything was started.
    """
    taken = domain.acquire(args.domain)
    try:
        packages = installed_ros_packages()
        bringup.check(args, packages)
        runtime = Runtime(taken.id, taken.folder, new_run_dir(args), exit_when_done, packages)
        processes = bringup.graph(args, runtime)
        taken.announce(runtime.run_dir, args.task)
        echo = console(tuple(process.name for process in processes)) if show else None
        supervisor = Supervisor(
            processes, runtime, lock_fd=taken.lock_fd, lock_file=taken.lock_file, echo=echo
        )
        with supervisor:
            yield Run(args, runtime, supervisor)
    finally:
        taken.release()
        remains.clean_shared_memory()
