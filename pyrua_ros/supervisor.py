"""Starts the graph, shows what its processes say, and stops all of it when one of them ends."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, TYPE_CHECKING

from pyrua_ros.bringup import Param, Process, Runtime, UsageError, environment
from pyrua_ros.janitor import Janitor

if TYPE_CHECKING:
    from typing_extensions import Self

Echo = Callable[[str, str], None]

_KILL_S = 5.0
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Ended:
    """Why waiting is over: a process ended, or a signal arrived."""

    name: str
    code: int  # exit code; negative: the signal that ended it
    is_signal: bool = False

    def __str__(self) -> str:
        """As one clause for a person."""
        if self.is_signal:
            return f"{signal.Signals(self.code).name} received"
        if self.code < 0:
            return f"{self.name} was ended by {signal.Signals(-self.code).name}"
        return f"{self.name} ended with exit code {self.code}"


def param_words(params: Mapping[str, Param]) -> list[str]:
    """ROS command-line words; strings are quoted so that YAML reads none of them as something else."""
    words = []
    for name, value in params.items():
        text = json.dumps(value, ensure_ascii=False) if isinstance(value, (str, bool)) else repr(value)
        words += ["-p", f"{name}:={text}"]
    # The supervisor keeps the logs; files of their own would say the same again.
    return ["--ros-args", "--disable-external-lib-logs", *words]


def command(process: Process) -> list[str]:
    """List program and arguments; raises `UsageError` when another package's program is missing."""
    if process.module is not None:
        start = [sys.executable, "-m", process.module]
    else:
        from ament_index_python.packages import get_package_prefix

        try:
            prefix = Path(get_package_prefix(process.package))
        except (LookupError, OSError):
            raise UsageError(
                f"{process.name} needs the ROS 2 package {process.package}: install it"
            ) from None
        start = [str(prefix / "lib" / process.package / process.executable)]
    return [*start, *process.args, *param_words(process.params)]


def _child_setup(parent: int) -> Callable[[], None]:
    """In the child, before it execs: die with the parent, take signals as usual."""
    zero = ctypes.c_ulong(0)

    def setup() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGTERM), zero, zero, zero)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if os.getppid() != parent:
            os._exit(1)

    return setup


class Supervisor:
    """Owns the processes of one run. Start it in the main thread: they die with the thread that made them."""

    def __init__(
        self,
        processes: Iterable[Process],
        runtime: Runtime,
        *,
        lock_fd: int,
        lock_file: Path,
        echo: Echo | None,
    ) -> None:
        self._processes = tuple(processes)
        self._runtime = runtime
        self._lock_fd = lock_fd
        self._lock_file = lock_file
        self._echo = echo
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._ends: queue.SimpleQueue[Ended] = queue.SimpleQueue()
        self._pumps: list[threading.Thread] = []
        self._janitor: Janitor | None = None
        self._handlers: dict[int, object] = {}
        self._signalled = False
        self._hurry = False  # a second signal: no more patience
        self.control: socket.socket | None = None

    def __enter__(self) -> Self:
        """Start everything, or nothing when one cannot start."""
        self._catch_signals()
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything."""
        self.stop()

    @property
    def pids(self) -> dict[str, int]:
        """Process ID by name, of those that still run."""
        return {name: child.pid for name, child in self._running.items() if child.poll() is None}

    def start(self) -> None:
        """Start every process, in order."""
        (self._runtime.run_dir / "log").mkdir(parents=True, exist_ok=True)
        commands = {process.name: command(process) for process in self._processes}
        self._janitor = Janitor(self._runtime.folder, self._lock_file)
        for process in self._processes:
            child = self._spawn(process, commands[process.name])
            self._running[process.name] = child
            self._janitor.watch(child.pid)
        for process in self._processes:
            self._watch(process, self._running[process.name])

    def wait(self, timeout_s: float | None = None) -> Ended | None:
        """Return the next required process that ends or signal that arrives; None after `timeout_s`."""
        try:
            return self._ends.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def stop(self) -> None:
        """Stop what still runs, last started first; returns when nothing of it is left."""
        for process in reversed(self._processes):
            child = self._running.get(process.name)
            if child is not None:
                self._end(process, child)
        for pump in self._pumps:
            pump.join(timeout=2.0)
        if self.control is not None:
            self.control.close()
            self.control = None
        if self._janitor is not None:
            self._janitor.dismiss()
            self._janitor = None
        self._restore_signals()

    def _spawn(self, process: Process, words: list[str]) -> subprocess.Popen[bytes]:
        inherited = [self._lock_fd]
        theirs: socket.socket | None = None
        if process.control:
            self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            inherited.append(theirs.fileno())
            cut = words.index("--ros-args") if "--ros-args" in words else len(words)
            words = [*words[:cut], "--control-fd", str(theirs.fileno()), *words[cut:]]
        surroundings = {**os.environ, **environment(self._runtime), **process.env}
        if not process.secrets:
            surroundings = {
                name: text for name, text in surroundings.items() if not name.startswith("OPENAI_")
            }
        streams: dict[str, int] = {}
        if not process.interactive:
            streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        try:
            return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
                words,
                cwd=self._runtime.run_dir,
                env=surroundings,
                pass_fds=inherited,
                start_new_session=True,
                preexec_fn=_child_setup(os.getpid()),  # noqa: PLW1509 (our threads start after the last child)
                **streams,
            )
        except FileNotFoundError:
            raise UsageError(f"{process.name} cannot start: {words[0]} does not exist") from None
        finally:
            if theirs is not None:
                theirs.close()

    def _watch(self, process: Process, child: subprocess.Popen[bytes]) -> None:
        def await_end() -> None:
            code = child.wait()
            if process.required:
                self._ends.put(Ended(process.name, code))

        threading.Thread(target=await_end, name=f"await-{process.name}", daemon=True).start()
        if child.stdout is not None:
            pump = threading.Thread(
                target=self._pump, args=(process.name, child.stdout), name=f"pump-{process.name}", daemon=True
            )
            pump.start()
            self._pumps.append(pump)

    def _pump(self, name: str, stream: IO[bytes]) -> None:
        log_path = self._runtime.run_dir / "log" / f"{name}.log"
        with contextlib.suppress(OSError, ValueError), open(log_path, "ab", buffering=0) as log:
            while line := stream.readline(65536):
                log.write(b"%.3f %s" % (time.time(), line))
                if self._echo is not None:
                    self._echo(name, line.decode("utf-8", "replace").rstrip("\n"))

    def _end(self, process: Process, child: subprocess.Popen[bytes]) -> None:
        if child.poll() is None:
            # Not SIGINT: a process that is still importing would print a traceback.
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)
            self._await(child, process.grace_s)
        # Also what a process that ended by itself left in its group.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        self._await(child, _KILL_S, even_in_a_hurry=True)

    def _await(self, child: subprocess.Popen[bytes], timeout_s: float, even_in_a_hurry: bool = False) -> None:
        end = time.monotonic() + timeout_s
        while child.poll() is None and time.monotonic() < end:
            if self._hurry and not even_in_a_hurry:
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=0.1)

    def _catch_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return

        def note(number: int, _frame: FrameType | None) -> None:
            self._hurry = self._signalled
            self._signalled = True
            self._ends.put(Ended("signal", number, is_signal=True))

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before = signal.getsignal(number)
            if number == signal.SIGHUP and before == signal.SIG_IGN:
                continue
            self._handlers[number] = before
            signal.signal(number, note)

    def _restore_signals(self) -> None:
        for number, before in self._handlers.items():
            signal.signal(number, before)  # type: ignore[arg-type]
        self._handlers.clear()
