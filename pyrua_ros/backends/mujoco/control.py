"""The private line to the simulator: score, truth and statistics over an inherited socket, never over ROS.

Requests and replies are JSON, one per line: ``{"ask": "score"}`` → ``{"success": true, "detail": {…}}``.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

_LINE_LIMIT = 65536


class ControlError(Exception):
    """The simulator gave no answer, or refused the request; the message says which."""


Handler = Callable[[], dict[str, Any]]


class ControlServer:
    """Answers requests on `sock` with `handlers` in a thread of its own, until the other end closes."""

    def __init__(self, sock: socket.socket, handlers: Mapping[str, Handler]) -> None:
        self._socket = sock
        self._handlers = dict(handlers)
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._thread.join(timeout=1.0)
        self._socket.close()

    def _serve(self) -> None:
        try:
            with self._socket.makefile("rwb") as stream:
                while line := stream.readline(_LINE_LIMIT):
                    stream.write(json.dumps(self._answer(line)).encode() + b"\n")
                    stream.flush()
        except OSError:
            pass

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            ask = json.loads(line)["ask"]
            handler = self._handlers[ask]
        except (ValueError, TypeError, KeyError):
            return {"error": f'expected {{"ask": one of {", ".join(self._handlers)}}}'}
        try:
            return handler()
        except Exception as error:  # noqa: BLE001 - the asking side gets the reason; the simulation goes on
            return {"error": f"{type(error).__name__}: {error}"}


class ControlClient:
    """The other end: asks the simulator; every call has a deadline and raises `ControlError`."""

    def __init__(self, sock: socket.socket, timeout_s: float = 5.0) -> None:
        self._socket = sock
        self._socket.settimeout(timeout_s)
        self._stream = sock.makefile("rwb")

    def score(self) -> dict[str, Any]:
        """``{"success": bool, "detail": {predicate: bool}}``."""
        return self._ask("score")

    def truth(self) -> dict[str, Any]:
        """Time, joint positions and ``objects``: pose by name, position m and quaternion xyzw."""
        return self._ask("truth")

    def stats(self) -> dict[str, Any]:
        """Real-time factor, simulation time, frames and their cost."""
        return self._ask("stats")

    def record(self) -> dict[str, Any]:
        """Largest commanded and measured joint velocities and accelerations since the last `record`."""
        return self._ask("record")

    def close(self) -> None:
        """Close the socket."""
        self._stream.close()
        self._socket.close()

    def _ask(self, what: str) -> dict[str, Any]:
        try:
            self._stream.write(json.dumps({"ask": what}).encode() + b"\n")
            self._stream.flush()
            line = self._stream.readline()
        except (OSError, ValueError) as error:
            raise ControlError(f"the simulator did not answer '{what}': {error}") from error
        if not line:
            raise ControlError(f"the simulator closed the control socket before it answered '{what}'")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ControlError(f"the simulator could not answer '{what}': {answer['error']}")
        return answer
