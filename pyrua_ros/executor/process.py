"""One kernel process: started in its cage, watched, killed with all it started."""

from __future__ import annotations

import fcntl
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import psutil
import zmq
from jupyter_client.connect import write_connection_file
from jupyter_client.session import Session, new_id_bytes

from pyrua_ros.executor.policy import Policy

_SOCKET_PATH_BYTES = 107
_SHELL, _IOPUB, _STDIN, _CONTROL, _HEARTBEAT = _PORTS = 1, 2, 3, 4, 5
_LOG_TAIL_BYTES, _LOG_TAIL_LINES = 4000, 3


class KernelError(RuntimeError):
    """The kernel did not start, or is not there; the message carries the last lines it wrote."""


class ConnectionFolder:
    """A short folder of one kernel: connection file, sockets, policy, report. Gone with its owner."""

    def __init__(self, base: Path) -> None:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        sweep(base)
        self.path = Path(tempfile.mkdtemp(prefix="kernel-", dir=base))
        # Held as long as this process lives: tells others that the folder is in use.
        self._lock = os.open(self.path / "owner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.socket_stem = str(self.path / "k")
        longest = f"{self.socket_stem}-{max(_PORTS)}"
        if len(os.fsencode(longest)) > _SOCKET_PATH_BYTES:
            self.remove()
            raise ValueError(
                f"connection_dir is too long for UNIX sockets: {longest} has {len(os.fsencode(longest))} bytes, "
                f"at most {_SOCKET_PATH_BYTES} are possible; choose a shorter folder, such as one in /tmp"
            )

    @property
    def connection_file(self) -> Path:
        """For `jupyter console --existing`."""
        return self.path / "kernel.json"

    def endpoint(self, port: int) -> str:
        """ZeroMQ address of one of the kernel's sockets."""
        return f"ipc://{self.socket_stem}-{port}"

    def write_connection_file(self) -> bytes:
        """Write it; returns the new key that signs messages."""
        key = new_id_bytes()
        write_connection_file(
            str(self.connection_file),
            ip=self.socket_stem,
            transport="ipc",
            key=key,
            kernel_name="pyrua",
            shell_port=_SHELL,
            iopub_port=_IOPUB,
            stdin_port=_STDIN,
            control_port=_CONTROL,
            hb_port=_HEARTBEAT,
        )
        return key

    def remove(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def sweep(base: Path) -> None:
    """Remove folders whose owner died without doing so."""
    for lock_path in base.glob("kernel-*/owner.lock"):
        try:
            lock = os.open(lock_path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue
        else:
            shutil.rmtree(lock_path.parent, ignore_errors=True)
        finally:
            os.close(lock)


def _descendants(pid: int) -> list[psutil.Process]:
    """List processes that a cell started, also in groups of their own: possible only without seccomp."""
    try:
        found: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []
    return found


class KernelProcess:
    """The process, its connection and its end.

    A thread of its own starts it and waits for it: Linux ties "dies with its parent" to the thread that
    started a process, so that thread must live as long as the kernel.
    """

    def __init__(
        self, folder: ConnectionFolder, policy: Policy, environment: Mapping[str, str], log: Path
    ) -> None:
        self.folder = folder
        self.log = log
        self._log_start = log.stat().st_size if log.exists() else 0
        key = folder.write_connection_file()
        self._policy_path = folder.path / "policy.json"
        self._policy_path.write_text(policy.to_json())
        self._report_path = Path(policy.report)
        self._environment = dict(environment)
        self._cwd = environment["HOME"]
        self.exit_code: int | None = None
        #: Layer → "yes…" or "no: why", as the launcher reported before any cell could run.
        self.sandbox: dict[str, str] = {}
        started: queue.SimpleQueue[int | OSError] = queue.SimpleQueue()
        self._keeper = threading.Thread(target=self._keep, args=(started,), name="kernel-keeper", daemon=True)
        self._keeper.start()
        pid = started.get()
        if isinstance(pid, OSError):
            raise KernelError(f"the kernel process cannot be started: {pid}")
        self.pid = pid
        #: Readable as soon as the process has ended.
        self.end_fd = os.pidfd_open(self.pid)
        self.session = Session(key=key, username="pyrua")
        self._context = zmq.Context()
        self.shell = self._connect(zmq.DEALER, _SHELL)
        self.iopub = self._connect(zmq.SUB, _IOPUB)

    def _keep(self, started: queue.SimpleQueue[int | OSError]) -> None:
        command = [
            *(sys.executable, "-m", "pyrua_ros.executor.sandbox", str(self._policy_path), "--"),
            *(sys.executable, "-m", "pyrua_ros.executor.kernel", "-f", str(self.folder.connection_file)),
        ]
        try:
            with open(self.log, "ab") as log:
                process = subprocess.Popen(
                    command,
                    env=self._environment,
                    cwd=self._cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError as error:
            started.put(error)
            return
        started.put(process.pid)
        self.exit_code = process.wait()

    def _connect(self, kind: int, port: int) -> zmq.Socket[bytes]:
        socket: zmq.Socket[bytes] = self._context.socket(kind)
        socket.linger = 0
        socket.reconnect_ivl = 20  # ms: the kernel binds a second after we connect
        socket.rcvhwm = 0
        if kind == zmq.SUB:
            socket.subscribe(b"")
        else:
            socket.identity = self.session.bsession
        socket.connect(self.folder.endpoint(port))
        return socket

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._keeper.is_alive()

    def interrupt(self) -> None:
        """SIGINT to the kernel."""
        if self.alive:
            try:
                os.kill(self.pid, signal.SIGINT)
            except ProcessLookupError:
                pass

    def kill(self, timeout_s: float = 5.0) -> None:
        """End the process group now; returns when the process is gone."""
        if self.alive:
            strays = [] if self.sandbox.get("seccomp", "").startswith("yes") else _descendants(self.pid)
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            for stray in strays:
                try:
                    stray.kill()
                except psutil.Error:
                    pass
        self._keeper.join(timeout_s)

    def wait(self, timeout_s: float) -> bool:
        """Wait for the process to end by itself; whether it did."""
        self._keeper.join(timeout_s)
        return not self.alive

    def close(self) -> None:
        """Kill what is left and give up sockets, folder and handles."""
        self.kill()
        self._context.destroy(linger=0)
        if self.end_fd >= 0:
            os.close(self.end_fd)
            self.end_fd = -1
        self.folder.remove()

    def last_words(self) -> str:
        """Last lines that the process wrote to its log since it started."""
        try:
            with open(self.log, "rb") as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(max(self._log_start, size - _LOG_TAIL_BYTES))
                text = log.read().decode(errors="replace").strip()
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-_LOG_TAIL_LINES:])

    def _read_report(self) -> dict[str, str]:
        try:
            report = json.loads(self._report_path.read_text())
        except (OSError, ValueError) as error:
            raise KernelError(f"the kernel's launcher left no report: {error}") from None
        return {str(layer): str(state) for layer, state in report.items()}

    def wait_until_ready(self, timeout_s: float) -> None:
        """Until it answers and its output reaches us; raises `KernelError`."""
        deadline = time.monotonic() + timeout_s
        poller = zmq.Poller()
        for source in (self.shell, self.iopub, self.end_fd):
            poller.register(source, zmq.POLLIN)
        self.session.send(self.shell, "kernel_info_request", {})
        answered = heard = False
        while not (answered and heard):
            left = deadline - time.monotonic()
            if left <= 0:
                raise KernelError(
                    f"the kernel did not answer within {timeout_s:.0f} s. {self.last_words()}".strip()
                )
            ready = dict(poller.poll(round(min(left, 0.5) * 1000)))
            if self.shell in ready:
                answered = self.session.recv(self.shell)[1] is not None
                if not heard:  # subscribed too late for the first request's messages
                    self.session.send(self.shell, "kernel_info_request", {})
            if self.iopub in ready:
                heard = self.session.recv(self.iopub)[1] is not None
            if self.end_fd in ready:
                self._keeper.join(1.0)
                code = self.exit_code
                raise KernelError(
                    f"the kernel ended while it started (exit code {code}): {self.last_words()}"
                )
        self.sandbox = self._read_report()
