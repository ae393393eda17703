"""The process in which cells run: an ipykernel without TCP, history, debugger and colours.

    python -m pyrua_ros.executor.kernel -f CONNECTION_FILE

The client starts it through `sandbox.py`. `namespace.py` says what a cell finds in it.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import itertools
import signal
import sys
import traceback
import warnings
from types import FrameType
from typing import Any

sys.modules["debugpy"] = None  # type: ignore[assignment]  # nobody debugs here: saves time and memory

import zmq
from ipykernel import kernelapp
from ipykernel.compiler import XCachingCompiler
from ipykernel.iostream import IOPubThread, OutStream
from ipykernel.ipkernel import IPythonKernel
from ipykernel.zmqshell import ZMQInteractiveShell
from traitlets import Type

from pyrua_ros.executor import namespace
from pyrua_ros.executor.output import Bounded
from pyrua_ros.executor.tracebacks import CELL_PREFIX, short_traceback

#: Message that tells the client how many characters a cell's output lost here.
CUT_MESSAGE = "pyrua_cut"

_HEAD_CHARS = 16_000
_TAIL_CHARS = 16_000


class CellStream(OutStream):
    """stdout and stderr of cells in one stream, in order, bounded per cell before it leaves the process."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._bounded = Bounded(_HEAD_CHARS, _TAIL_CHARS)

    def begin_cell(self) -> None:
        """Start counting anew."""
        with self._buffer_lock:
            self._bounded = Bounded(_HEAD_CHARS, _TAIL_CHARS)

    def end_cell(self) -> None:
        """Send the end of the output, and how much was cut before it."""
        with self._buffer_lock:
            tail = self._bounded.take_tail()
            cut = self._bounded.cut
        self.flush()
        if cut:
            self.session.send(
                self.pub_thread, CUT_MESSAGE, {"chars": cut}, parent=self.parent_header, ident=self.topic
            )
        if tail:
            super().write(tail)
            self.flush()

    def write(self, string: str) -> int:
        """Write the part that is within the bounds."""
        if not isinstance(string, str):
            raise TypeError(f"write() argument must be str, not {type(string)}")
        with self._buffer_lock:
            head = self._bounded.feed(string)
        if head:
            super().write(head)
        return len(string)

    def flush(self) -> None:
        """Send what is waiting; costs nothing when nothing is."""
        if getattr(self, "_buffers", True):
            super().flush()


class CellCompiler(XCachingCompiler):
    """Names cells so that tracebacks can tell them from library code."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._numbers = itertools.count(1)
        self.current = ""

    def get_code_name(self, raw_code: str, code: str, number: int) -> str:
        """File name of the next cell."""
        self.current = f"{CELL_PREFIX}{next(self._numbers)}>"
        return self.current


class CellShell(ZMQInteractiveShell):
    """The interpreter, with short errors and an `exit` that ends the cell alone."""

    def showtraceback(self, exc_tuple: Any = None, *args: Any, **kwargs: Any) -> None:
        """Send the error in its short form."""
        kind, error, trace = self._get_exc_info(exc_tuple)
        if issubclass(kind, SystemExit):
            self._last_traceback = []
            print(namespace.exit_note(error))
            return
        current = getattr(self.compile, "current", "")
        self._showtraceback(kind, error, [short_traceback(kind, error, trace, current)])

    def showsyntaxerror(self, *args: Any, **kwargs: Any) -> None:
        """Send the error in its short form."""
        self.showtraceback()


class CellKernel(IPythonKernel):
    """The kernel, with a SIGINT that reaches the cell's code alone."""

    shell_class = Type(CellShell)
    compiler_class = Type(CellCompiler)

    def pre_handler_hook(self) -> None:
        """Listen to SIGINT while a request is handled."""
        self.saved_sigint_handler = signal.signal(signal.SIGINT, _interrupt)

    async def poll_stopped_queue(self) -> None:
        """There is no debugger."""

    def _process_children(self) -> list[Any]:
        """None: cells cannot start processes, nor list them."""
        return []


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """Stop the cell: what is around it must not break, so the error is raised under a cell's frame only."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(CELL_PREFIX):
            namespace.preempt("interrupted")
            raise KeyboardInterrupt
        frame = frame.f_back


class _NoPipe(IOPubThread):
    """Without the TCP port that output of forked processes would come through."""

    def __init__(self, socket: Any, pipe: bool = False, **kwargs: Any) -> None:
        super().__init__(socket, pipe=False, **kwargs)


class CellKernelApp(kernelapp.IPKernelApp):
    """The process around the kernel."""

    kernel_class = Type(CellKernel, klass="ipykernel.kernelbase.Kernel")  # type: ignore[assignment]

    def init_control(self, context: Any) -> None:
        """Without the debugger's connection to the shell socket: `connect` is not allowed here."""
        super().init_control(context)
        endpoint = self.shell_socket.getsockopt(zmq.LAST_ENDPOINT)
        if self.debug_shell_socket is not None and endpoint:
            try:
                self.debug_shell_socket.disconnect(endpoint)
            except zmq.ZMQError:
                pass  # it was never connected

    def init_iopub(self, context: Any) -> None:
        """Without TCP."""
        setattr(kernelapp, "IOPubThread", _NoPipe)  # noqa: B010  (the application names the class in its code)
        super().init_iopub(context)

    def init_io(self) -> None:
        """One stream for stdout and stderr; what C code prints goes to the process's log."""
        self.capture_fd_output = False
        super().init_io()
        stream = CellStream(self.session, self.iopub_thread, "stdout", watchfd=False)
        sys.stdout = sys.stderr = stream

    def init_gui_pylab(self) -> None:
        """No event loops of windows, and no import of plotting."""

    def init_code(self) -> None:
        """Fill the namespace; a failure ends the process, and the client shows its last lines."""
        try:
            namespace.install(self.shell, sys.stdout)
        except Exception:  # noqa: BLE001
            traceback.print_exc(file=sys.__stderr__)
            self.exit(1)


def configure() -> dict[str, dict[str, Any]]:
    """Traitlets: no history file, no result cache, no colours, plain `await`."""
    return {
        "HistoryManager": {"enabled": False, "hist_file": ":memory:"},
        "InteractiveShell": {"autoawait": False, "colors": "nocolor", "cache_size": 0, "history_length": 0},
    }


def main() -> None:
    """Serve cells until told to stop, or until the parent is gone."""
    from traitlets.config import Config

    warnings.filterwarnings("ignore", message="To exit: use")
    CellKernelApp.launch_instance(config=Config(configure()))


if __name__ == "__main__":
    main()
