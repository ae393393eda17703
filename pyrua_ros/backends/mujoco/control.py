"""The private line to the simulator: score, truth and statistics over an inherited socket, never over ROS.

Requests and replies are JSON, one per line: ``{"ask": "score"}`` → ``{"success": true, "detail": {…}}``;
an ``id`` in the request comes back in the reply.
"""

from __future__ import annotations

import json
import socket
import threading
import time
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
            request = json.loads(line)
            handler = self._handlers[request["ask"]]
        except (ValueError, TypeError, KeyError):
            return {"error": f'expected {{"ask": one of {", ".join(self._handlers)}}}'}
        reference = {"id": request["id"]} if "id" in request else {}
        try:
            return {**handler(), **reference}
        except Exception as error:  # noqa: BLE001 - the asking side gets the reason; the simulation goes on
            return {"error": f"{type(error).__name__}: {error}", **reference}


class ControlClient:
    """The other end: asks the simulator; every call has a deadline and raises `ControlError`."""

    def __init__(self, sock: socket.socket, timeout_s: float = 5.0) -> None:
        self._socket = sock
        self._timeout_s = timeout_s
        self._received = b""
        self._asked = 0

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
        self._socket.close()

    def _ask(self, what: str) -> dict[str, Any]:
        deadline = time.monotonic() + self._timeout_s
        self._asked += 1
        try:
            self._socket.settimeout(self._timeout_s)
            self._socket.sendall(json.dumps({"ask": what, "id": self._asked}).encode() + b"\n")
            # The answer to a question that was given up on may still come first.
            while (answer := self._line(deadline)).get("id") != self._asked:
                pass
        except (OSError, ValueError) as error:
            raise ControlError(f"the simulator did not answer '{what}': {error}") from error
        if "error" in answer:
            raise ControlError(f"the simulator could not answer '{what}': {answer['error']}")
        del answer["id"]
        return answer

    def _line(self, deadline: float) -> dict[str, Any]:
        while b"\n" not in self._received:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no answer within {self._timeout_s:g} s")
            self._socket.settimeout(left)
            part = self._socket.recv(_LINE_LIMIT)
            if not part:
                raise ConnectionError("it has closed the control socket")
            self._received += part
        line, _, self._received = self._received.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer
