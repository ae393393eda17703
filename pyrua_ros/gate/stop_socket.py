"""Stop over a UNIX socket: a thread in the gate that listens, and the client that `pyrua stop` uses.

One line in, ``stop <reason>``, one line out, ``stopped``. There is no resume here.
"""

from __future__ import annotations

import fcntl
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

_MAX_LINE = 1000
_PATIENCE_S = 2.0  # for a client that has connected to finish its line
_MAX_CLIENTS = 16


class StopSocketError(Exception):
    """The socket cannot be served, or a stop was not confirmed; the message says what to do."""


class StopServer:
    """Listens from construction to `close`.

    Parameters
    ----------
    on_stop : called in the server's thread with the reason; returns the reply line.

    Raises StopSocketError when a live gate has the socket. What a dead one left behind is replaced: the lock
    file beside the socket tells them apart, because the kernel drops a dead process's lock.
    """

    def __init__(self, path: str | Path, on_stop: Callable[[str], str]) -> None:
        self._path = Path(path)
        self._on_stop = on_stop
        self._lock = self._take_lock()
        self._listener = self._bind()
        self._wake, self._woken = socket.socketpair()
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name="stop-socket", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening and remove the socket."""
        self._closing = True
        self._wake.send(b"x")
        self._thread.join(timeout=2.0)
        self._listener.close()
        self._wake.close()
        self._woken.close()
        self._path.unlink(missing_ok=True)
        os.close(self._lock)

    def _take_lock(self) -> int:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(f"{self._path}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise StopSocketError(
                f"another gate is alive at {self._path}; stop it, or use another socket"
            ) from None
        return lock

    def _bind(self) -> socket.socket:
        self._path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(str(self._path))
            os.chmod(self._path, 0o600)
            listener.listen(_MAX_CLIENTS)
            listener.setblocking(False)
        except OSError as error:
            listener.close()
            os.close(self._lock)
            raise StopSocketError(f"cannot listen at {self._path}: {error}") from None
        return listener

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            clients: dict[socket.socket, tuple[float, bytes]] = {}
            while not self._closing:
                for key, _ in selector.select(timeout=0.5 if clients else None):
                    ready = key.fileobj
                    if ready is self._listener:
                        self._accept(selector, clients)
                    elif isinstance(ready, socket.socket) and ready in clients:
                        self._read(ready, selector, clients)
                self._drop_slow(selector, clients)
            for client in clients:
                client.close()

    def _accept(
        self, selector: selectors.BaseSelector, clients: dict[socket.socket, tuple[float, bytes]]
    ) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        if len(clients) >= _MAX_CLIENTS:
            self._drop(min(clients, key=lambda c: clients[c][0]), selector, clients)
        client.setblocking(False)
        clients[client] = (time.monotonic() + _PATIENCE_S, b"")
        selector.register(client, selectors.EVENT_READ)

    def _read(
        self,
        client: socket.socket,
        selector: selectors.BaseSelector,
        clients: dict[socket.socket, tuple[float, bytes]],
    ) -> None:
        deadline, line = clients[client]
        try:
            data = client.recv(_MAX_LINE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        line += data
        if data and b"\n" not in line and len(line) < _MAX_LINE:
            clients[client] = (deadline, line)
            return
        # An unfinished line of a client that hung up counts too: when in doubt, stop.
        reply = self._answer(line.decode(errors="replace").strip())
        try:
            client.sendall(f"{reply}\n".encode())
        except OSError:
            pass
        self._drop(client, selector, clients)

    def _answer(self, line: str) -> str:
        word, _, reason = line.partition(" ")
        if word != "stop":
            return "unknown request; this socket only takes: stop <reason>"
        try:
            return " ".join(self._on_stop(reason.strip() or "no reason given").split())
        except Exception as error:  # noqa: BLE001
            return f"failed: {error}"

    def _drop_slow(
        self, selector: selectors.BaseSelector, clients: dict[socket.socket, tuple[float, bytes]]
    ) -> None:
        for client in [c for c, (deadline, _) in clients.items() if time.monotonic() > deadline]:
            self._drop(client, selector, clients)

    @staticmethod
    def _drop(
        client: socket.socket,
        selector: selectors.BaseSelector,
        clients: dict[socket.socket, tuple[float, bytes]],
    ) -> None:
        selector.unregister(client)
        del clients[client]
        client.close()


def _connect(client: socket.socket, path: str | Path, deadline: float) -> None:
    client.settimeout(max(0.001, deadline - time.monotonic()))
    while True:
        try:
            client.connect(str(path))
            return
        except BlockingIOError:
            # The queue of connections is full for a moment.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def request_stop(path: str | Path, timeout_s: float, reason: str = "pyrua stop") -> str:
    """Stop the robot behind the socket at `path`; returns the gate's reply, which begins with "stopped".

    Raises StopSocketError when nobody confirms within `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            _connect(client, path, deadline)
            client.sendall(f"stop {' '.join(reason.split())[: _MAX_LINE // 4]}\n".encode())
            reply = b""
            while not reply.endswith(b"\n"):
                client.settimeout(max(0.001, deadline - time.monotonic()))
                data = client.recv(4096)
                if not data:
                    break
                reply += data
        except (FileNotFoundError, ConnectionRefusedError):
            raise StopSocketError(f"no gate listens at {path}: nothing runs there, or it has died") from None
        except OSError as error:
            raise StopSocketError(
                f"the gate at {path} did not confirm within {timeout_s:.1f} s ({error}); use the robot's own stop"
            ) from None
    text = reply.decode(errors="replace").strip()
    if not text.startswith("stopped"):
        raise StopSocketError(
            f"the gate at {path} did not stop: {text or 'it hung up'}; use the robot's own stop"
        )
    return text
