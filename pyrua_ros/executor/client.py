"""The planner's side of the kernel: run a cell, get what it printed and showed, and stop it when it must."""

from __future__ import annotations

import base64
import binascii
import compileall
import math
import os
import queue
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import zmq

import pyrua_ros
from pyrua_ros.executor.environment import kernel_environment
from pyrua_ros.executor.output import Bounded
from pyrua_ros.executor.policy import Limits, kernel_policy
from pyrua_ros.executor.process import ConnectionFolder, KernelError, KernelProcess

__all__ = ["CellResult", "Frame", "KernelClient", "KernelError"]

Status = Literal["ok", "error", "interrupted", "killed"]

#: Must match `kernel.CUT_MESSAGE`, which this process does not import.
_CUT_MESSAGE = "pyrua_cut"

_MAX_FRAMES = 16
_MAX_FRAME_BYTES = 4_000_000
_MAX_ERROR_CHARS = 2000
_HOLD_TIMEOUT_S = 0.5
_AGAIN_S = 0.5  # a second SIGINT, in case the first met no cell code
_TRAILING_OUTPUT_S = 1.0
_CLOSE_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Frame:
    """An image that a cell showed."""

    jpeg: bytes
    camera: str
    label: str


@dataclass(frozen=True)
class CellResult:
    """What running a cell gave.

    Parameters
    ----------
    status : "killed" means that the kernel was lost and, when `restarted`, that a fresh one is there.
    text : what the cell printed, its error, and what was done to it; within the cap.
    error : type and message of the error that ended the cell.
    frames : images in the order they were shown.
    seconds : how long it ran.
    cut_chars : characters left out of `text`.
    """

    status: Status
    text: str
    error: str | None = None
    frames: list[Frame] = field(default_factory=list)
    seconds: float = 0.0
    cut_chars: int = 0
    restarted: bool = False


class _Transcript:
    """Collects one cell's messages within bounds."""

    def __init__(self, text_limit: int, on_output: Callable[[str], None] | None) -> None:
        self._text_limit = text_limit
        self._head = ""
        self._bounded = Bounded(text_limit // 2, text_limit - text_limit // 2)
        self._cut_in_kernel = 0
        self._on_output = on_output
        self._frames: list[Frame] = []
        self._frames_dropped = 0
        self.error_name: str | None = None
        self.error_text: str | None = None
        self.error: str | None = None

    def take(self, kind: str, content: dict[str, Any]) -> None:
        """One message of the kernel; it is not trusted to be well formed."""
        if kind == "stream":
            self._print(str(content.get("text", "")))
        elif kind == _CUT_MESSAGE:
            self._cut_in_kernel += max(0, int(content.get("chars", 0)))
        elif kind in ("display_data", "execute_result"):
            self._display(content)
        elif kind == "error":
            self.take_error(content)

    def take_error(self, content: dict[str, Any]) -> None:
        """Note the error that ended the cell."""
        self.error_name = str(content.get("ename", ""))
        self.error_text = "\n".join(str(line) for line in content.get("traceback", []))[:_MAX_ERROR_CHARS]
        self.error = self.error_text.rsplit("\n", 1)[-1] or self.error_name

    def _print(self, text: str) -> None:
        head = self._bounded.feed(text)
        self._head += head
        if head and self._on_output is not None:
            self._on_output(head)

    def _display(self, content: dict[str, Any]) -> None:
        data, metadata = content.get("data") or {}, content.get("metadata") or {}
        if "image/jpeg" in data and "pyrua" in metadata:
            self._show(data["image/jpeg"], metadata["pyrua"])
        elif "text/plain" in data:
            self._print(f"{data['text/plain']}\n")

    def _show(self, encoded: str, about: dict[str, Any]) -> None:
        if len(encoded) > _MAX_FRAME_BYTES * 4 // 3:
            self._frames_dropped += 1
            return
        try:
            jpeg = base64.b64decode(encoded, validate=False)
        except (binascii.Error, ValueError):
            self._frames_dropped += 1
            return
        self._frames.append(Frame(jpeg, str(about.get("camera", "")), str(about.get("label", ""))))
        if len(self._frames) > _MAX_FRAMES:
            del self._frames[0]
            self._frames_dropped += 1

    def result(self, status: Status, seconds: float, notes: list[str], restarted: bool) -> CellResult:
        """Put it together; `notes` are what the executor has to say."""
        tail = self._bounded.take_tail()
        cut = self._bounded.cut + self._cut_in_kernel
        text = self._head
        if cut:
            text = f"{text}\n[… {cut:,} characters cut …]\n{tail}"
        else:
            text += tail
        parts = [text.rstrip("\n")] if text.strip() else []
        if self.error_text and status != "killed":
            parts.append(self.error_text)
        if self._frames_dropped:
            parts.append(f"[{self._frames_dropped} frames dropped: at most the last {_MAX_FRAMES} are kept]")
        parts.extend(notes)
        return CellResult(
            status=status,
            text="\n".join(parts),
            error=self.error if status in ("error", "interrupted") else None,
            frames=self._frames,
            seconds=seconds,
            cut_chars=cut,
            restarted=restarted,
        )


class KernelClient:
    """One sandboxed kernel at a time, and the cells it runs.

    Parameters
    ----------
    settings_json : `primitives.settings.Settings` for the kernel's `robo`; empty means no `robo`.
    workspace : the folder that cells may write; made when missing.
    connection_dir : short folder in which each kernel gets its own for sockets and connection file.
    on_hold : called before a running cell is stopped by force, so that the robot holds first.
    paused : asked while a cell runs; as long as it says yes (a person is asked something), the time does
        not count towards the deadline.
    text_limit : most characters of a result's printed text.
    grace_s : how long an interrupted cell may take to end before its kernel is killed.
    start_timeout_s : for restarts.
    log : file for what the kernel process writes outside cells; default: beside the workspace's folder.
    limits : resource limits.
    without : names of sandbox layers to leave out.
    """

    def __init__(
        self,
        settings_json: str,
        workspace: Path,
        connection_dir: Path,
        on_hold: Callable[[], None] = lambda: None,
        *,
        paused: Callable[[], bool] = lambda: False,
        text_limit: int = 8000,
        grace_s: float = 2.0,
        start_timeout_s: float = 30.0,
        log: Path | None = None,
        limits: Limits | None = None,
        without: tuple[str, ...] = (),
    ) -> None:
        self._settings_json = settings_json
        self._workspace = workspace.resolve()
        self._connection_base = connection_dir.resolve()
        self._on_hold = on_hold
        self._paused = paused
        self._text_limit = text_limit
        self._grace_s = grace_s
        self._start_timeout_s = start_timeout_s
        self._log = log or self._workspace.parent / f"{self._workspace.name}.kernel.log"
        self._limits = limits
        self._without = without
        self._kernel: KernelProcess | None = None
        self._running = threading.Lock()
        self._stop_requests: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        weakref.finalize(self, os.close, self._wake)
        self._in_cell = False
        self._closing = False
        #: Which sandbox layers hold: layer → "yes…" or "no: why".
        self.sandbox: dict[str, str] = {}
        #: The last error of `on_hold`, for the log.
        self.hold_failure: Exception | None = None

    # life

    def start(self, timeout_s: float | None = None) -> None:
        """Start the kernel and wait until it takes cells; raises `KernelError`."""
        if self._kernel is not None:
            raise KernelError("the kernel is running already")
        self._closing = False
        self._launch(self._start_timeout_s if timeout_s is None else timeout_s)

    def _launch(self, timeout_s: float) -> None:
        self._workspace.mkdir(parents=True, exist_ok=True)
        self._log.parent.mkdir(parents=True, exist_ok=True)
        _compile_package()
        folder = ConnectionFolder(self._connection_base)
        environment = kernel_environment(self._workspace, folder.path, self._settings_json)
        policy = kernel_policy(
            self._workspace, folder.path, environment, limits=self._limits, skip=self._without
        )
        try:
            kernel = KernelProcess(folder, policy, environment, self._log)
        except BaseException:
            folder.remove()
            raise
        try:
            kernel.wait_until_ready(timeout_s)
        except BaseException:
            kernel.close()
            raise
        self.sandbox = kernel.sandbox
        self._kernel = kernel

    def restart(self, timeout_s: float | None = None) -> None:
        """Start a fresh kernel: all variables are lost."""
        self.shutdown()
        self.start(timeout_s)

    def shutdown(self, timeout_s: float = 2.0) -> None:
        """End the kernel, by request if it listens and by force if not; nothing stays behind.

        From another thread it ends a running cell as well, whose `run` then returns "killed".
        """
        self._closing = True
        if not self._running.acquire(blocking=False):
            kernel = self._kernel
            if kernel is not None:
                kernel.kill()
            if not self._running.acquire(timeout=_CLOSE_TIMEOUT_S):
                raise KernelError("the running cell did not return after its kernel was killed")
        try:
            self._end_kernel(timeout_s)
        finally:
            self._running.release()

    def _end_kernel(self, timeout_s: float) -> None:
        kernel, self._kernel = self._kernel, None
        if kernel is None:
            return
        if timeout_s > 0 and kernel.alive:
            kernel.session.send(kernel.shell, "shutdown_request", {"restart": False})
            kernel.wait(timeout_s)
        kernel.close()

    def __enter__(self) -> KernelClient:  # noqa: PYI034  (`Self` came with Python 3.11)
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Shut down."""
        self.shutdown()

    @property
    def connection_file(self) -> Path:
        """For a person: `jupyter console --existing FILE`."""
        return self._alive_kernel().folder.connection_file

    @property
    def pid(self) -> int:
        """Process ID of the kernel."""
        return self._alive_kernel().pid

    def _alive_kernel(self) -> KernelProcess:
        if self._kernel is None:
            raise KernelError("the kernel is not running; call start()")
        return self._kernel

    # cells

    def interrupt(self, reason: str) -> bool:
        """Stop the running cell, from any thread: hold, interrupt, and kill if need be; False without a cell."""
        if not self._in_cell:
            return False
        self._stop_requests.put(reason)
        os.eventfd_write(self._wake, 1)
        return True

    def run(self, code: str, deadline_s: float, on_output: Callable[[str], None] | None = None) -> CellResult:
        """Run `code` to its end, or until `deadline_s` s are over and it is stopped.

        Raises `KernelError` when there is no kernel (a failed restart is tried again first).
        """
        if not self._running.acquire(blocking=False):
            raise KernelError("a cell is running already; wait for it or interrupt it")
        try:
            if self._kernel is None:
                if self._closing:
                    raise KernelError("the kernel is not running; call start()")
                self._launch(self._start_timeout_s)
            self._forget_stop_requests()
            self._in_cell = True
            try:
                return _Run(self, self._alive_kernel(), code, deadline_s, on_output).result()
            except BaseException:  # ours, not the cell's: do not leave the cell moving a robot unwatched
                self._hold()
                if self._kernel is not None:
                    self._kernel.interrupt()
                raise
        finally:
            self._in_cell = False
            self._running.release()

    def _forget_stop_requests(self) -> None:
        try:
            os.eventfd_read(self._wake)
        except BlockingIOError:
            pass
        while not self._stop_requests.empty():
            self._stop_requests.get_nowait()

    def _hold(self) -> None:
        """Ask for a hold; a callback that fails or hangs must not keep the cell running."""
        thread = threading.Thread(target=self._guarded_hold, name="hold", daemon=True)
        thread.start()
        thread.join(_HOLD_TIMEOUT_S)

    def _guarded_hold(self) -> None:
        try:
            self._on_hold()
        except Exception as error:  # noqa: BLE001  (whatever it is, the cell must be stopped)
            self.hold_failure = error

    def _replace_kernel(self) -> str | None:
        """Kill the kernel and start another; returns why that failed, if it did."""
        self._end_kernel(timeout_s=0.0)
        if self._closing:
            return "it was shut down"
        try:
            self._launch(self._start_timeout_s)
        except (KernelError, OSError, ValueError) as error:
            return str(error)
        return None


@cache
def _compile_package() -> None:
    """Leave bytecode for the kernel, which cannot write it and would compile the package at every start."""
    compileall.compile_dir(Path(pyrua_ros.__file__).parent, quiet=2)


class _Run:
    """One cell under way: its messages, its deadline, its end."""

    def __init__(
        self,
        client: KernelClient,
        kernel: KernelProcess,
        code: str,
        deadline_s: float,
        on_output: Callable[[str], None] | None,
    ) -> None:
        self._client = client
        self._kernel = kernel
        self._deadline_s = deadline_s
        self._transcript = _Transcript(client._text_limit, on_output)
        self._replied = self._idle = False
        self._stop_reason: str | None = None
        self._start = self._looked = time.monotonic()
        self._deadline = self._start + deadline_s
        self._interrupts: list[float] = []  # when the next ones are due
        self._kill_at = float("inf")
        self._poller = zmq.Poller()
        for source in (kernel.iopub, kernel.shell, kernel.end_fd, client._wake):
            self._poller.register(source, zmq.POLLIN)
        request = kernel.session.send(
            kernel.shell,
            "execute_request",
            {
                "code": code,
                "silent": False,
                "store_history": False,
                "user_expressions": {},
                "allow_stdin": False,
                "stop_on_error": False,
            },
        )
        assert isinstance(request, dict)
        self._request = request["header"]["msg_id"]

    def result(self) -> CellResult:
        """Follow the cell to its end."""
        reply_at = float("inf")
        while True:
            now = time.monotonic()
            if self._replied and (self._idle or now > reply_at + _TRAILING_OUTPUT_S):
                return self._ended(now)
            self._stop_if_due(now)
            if now >= self._kill_at:
                return self._lost(f"did not react to the interrupt within {self._client._grace_s:.3g} s")
            ready = dict(self._poller.poll(self._wait_ms(now)))
            self._drain(ready)
            if self._replied and reply_at == float("inf"):
                reply_at = time.monotonic()
            if self._kernel.end_fd in ready and not self._replied:
                return self._died()

    def _wait_ms(self, now: float) -> int:
        if self._replied:
            return 50
        due = [self._kill_at, *self._interrupts]
        if self._stop_reason is None:
            due.append(self._deadline)
        return math.ceil(max(0.0, min(min(due) - now, 1.0)) * 1000)

    def _stop_if_due(self, now: float) -> None:
        if self._client._paused():
            self._deadline += now - self._looked
        self._looked = now
        if self._stop_reason is None and not self._replied:
            if not self._client._stop_requests.empty():
                self._begin_stop(self._client._stop_requests.get_nowait())
            elif now >= self._deadline:
                self._begin_stop(f"it ran longer than {self._deadline_s:.3g} s")
        if self._interrupts and time.monotonic() >= self._interrupts[0]:
            del self._interrupts[0]
            self._kernel.interrupt()

    def _begin_stop(self, reason: str) -> None:
        self._stop_reason = reason
        self._client._hold()
        now = time.monotonic()
        self._interrupts = [now, now + _AGAIN_S]
        self._kill_at = now + self._client._grace_s

    def _drain(self, ready: dict[Any, int]) -> None:
        if self._client._wake in ready:
            os.eventfd_read(self._client._wake)
        if self._kernel.iopub in ready:
            self._receive(self._kernel.iopub, self._on_iopub)
        if self._kernel.shell in ready:
            self._receive(self._kernel.shell, self._on_shell)

    def _receive(self, socket: zmq.Socket[bytes], take: Callable[[str, dict[str, Any]], None]) -> None:
        for _ in range(200):  # then look at the clock again, however much there is
            try:
                _, message = self._kernel.session.recv(socket)
            except (ValueError, TypeError, KeyError):
                continue  # a cell can write anything to its own sockets
            if message is None:
                return
            if message.get("parent_header", {}).get("msg_id") == self._request:
                take(str(message.get("msg_type")), message.get("content") or {})

    def _on_iopub(self, kind: str, content: dict[str, Any]) -> None:
        if kind == "status":
            self._idle = self._idle or content.get("execution_state") == "idle"
        else:
            self._transcript.take(kind, content)

    def _on_shell(self, kind: str, content: dict[str, Any]) -> None:
        if kind == "execute_reply":
            self._replied = True
            if content.get("status") == "error" and self._transcript.error_name is None:
                self._transcript.take_error(content)

    def _ended(self, now: float) -> CellResult:
        """Sum up a cell that came to its end, by itself or by an interrupt."""
        transcript = self._transcript
        seconds = now - self._start
        if transcript.error_name == "SystemExit":
            transcript.error_name = transcript.error_text = transcript.error = None
        if self._stop_reason is not None:
            if transcript.error_name in ("KeyboardInterrupt", "Preempted"):
                transcript.error_text = (transcript.error_text or "").rpartition("\n")[0]
                transcript.error = f"interrupted: {self._stop_reason}"
            note = f"Interrupted after {seconds:.1f} s: {self._stop_reason}. Variables are kept."
            return transcript.result("interrupted", seconds, [note], False)
        if transcript.error_name is None:
            return transcript.result("ok", seconds, [], False)
        status: Status = (
            "interrupted" if transcript.error_name in ("Preempted", "KeyboardInterrupt") else "error"
        )
        return transcript.result(status, seconds, [], False)

    def _died(self) -> CellResult:
        """Sum up a cell whose process is gone."""
        self._drain({self._kernel.iopub: zmq.POLLIN})
        self._kernel.wait(1.0)
        if self._stop_reason is None:
            self._client._hold()
        return self._lost(f"ended its own process ({_end_of(self._kernel.exit_code)})")

    def _lost(self, what: str) -> CellResult:
        seconds = time.monotonic() - self._start
        because = f" ({self._stop_reason})" if self._stop_reason else ""
        failure = self._client._replace_kernel()
        notes = [f"Killed after {seconds:.1f} s{because}: the cell {what}."]
        if failure is None:
            notes.append("A fresh session is running: all variables and imports are lost.")
        else:
            notes.append(f"No new session could be started: {failure}")
        return self._transcript.result("killed", seconds, notes, failure is None)


def _end_of(code: int | None) -> str:
    if code is None:
        return "unknown"
    return f"signal {-code}" if code < 0 else f"exit code {code}"
