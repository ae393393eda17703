"""An OpenAI-compatible server on this host: scripted replies, failures on demand, strict about what it is sent.

It speaks the Responses and the Chat Completions API, streamed or whole. Tests script it; without a script it plays
the decisions of `config/decisions.yaml`, so that the whole path over HTTP runs without a key or a network.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pyrua_ros.evaluation.decisions import scripted_answer
from pyrua_ros.evaluation.endpoint_apis import (
    BadRequest,
    Counts,
    chat_body,
    chat_events,
    check_chat,
    check_responses,
    responses_body,
    responses_events,
)
from pyrua_ros.evaluation.endpoint_script import Answer, Drop, Event, Failure, Json, Request, cell, finish

__all__ = ["MODEL", "Answer", "Drop", "Endpoint", "Event", "Failure", "Request", "cell", "finish", "main"]

MODEL = "scripted"


class Endpoint:
    """The server; a context manager.

    Parameters
    ----------
    script
        What to answer, in order; None plays the scripted model. When the script is over, the last event is
        repeated.
    key
        When given, any other bearer token is refused.
    models
        Names that are known.
    refuses
        Parameters that this server does not take.
    streams
        False: `stream` is ignored, every answer comes whole.
    image_tokens
        What a picture counts for.
    """

    def __init__(
        self,
        script: Sequence[Event] | Callable[[Request], Event] | None = None,
        *,
        key: str | None = None,
        models: Sequence[str] = (MODEL,),
        refuses: Sequence[str] = (),
        streams: bool = True,
        image_tokens: int = 400,
        port: int = 0,
    ) -> None:
        self.requests: list[Request] = []
        self.hung_up = threading.Event()  # somebody did not wait for the end of an answer
        self.key, self.models, self.image_tokens = key, tuple(models), image_tokens
        self.refuses, self.streams = tuple(refuses), streams
        self._script = script if script is not None else scripted_answer
        self._lock = threading.Lock()
        self._position = 0
        self._numbers = itertools.count(1)
        self._seen = ""
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler_of(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True, name="endpoint"
        )

    @property
    def base_url(self) -> str:
        """What to give as `base_url`."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def start(self) -> Endpoint:
        """Serve in a thread."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(2.0)

    def __enter__(self) -> Endpoint:  # noqa: PYI034  typing.Self is not in Python 3.10
        """Serve."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self.close()

    def answer(self, request: Request) -> Event:
        """The next event for `request`."""
        with self._lock:
            self.requests.append(request)
            if callable(self._script):
                return self._script(request)
            event = self._script[min(self._position, len(self._script) - 1)]
            self._position += 1
            return event

    def number(self) -> int:
        """A new number for IDs."""
        return next(self._numbers)

    def count(self, request: Request) -> Counts:
        """(input tokens, of which cached): four characters a token; cached is what the last prompt began with."""
        prompt = json.dumps(request.body.get("instructions", "")) + json.dumps(
            request.body.get("input") or request.body.get("messages") or ""
        )
        for image in request.images:
            digest = hashlib.sha256(image.encode()).hexdigest()
            prompt = prompt.replace(
                image, (digest * (self.image_tokens * 4 // len(digest) + 1))[: self.image_tokens * 4]
            )
        with self._lock:
            same = _common_prefix(prompt, self._seen)
            self._seen = prompt
        cached = same // 4 // 128 * 128
        return len(prompt) // 4, cached if cached >= 1024 else 0


def _common_prefix(a: str, b: str) -> int:
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


# HTTP

_Api = tuple[
    str,
    Callable[[Json], None],
    Callable[[int, Counts, Request, Answer], Json],
    Callable[[Json], Iterator[Json]],
]
_APIS: dict[str, _Api] = {
    "/v1/responses": ("responses", check_responses, responses_body, responses_events),
    "/v1/chat/completions": ("chat", check_chat, chat_body, chat_events),
}


def _handler_of(endpoint: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Keep quiet."""

        def do_GET(self) -> None:
            if self.path == "/v1/models":
                models = [
                    {"id": name, "object": "model", "created": 0, "owned_by": "test"}
                    for name in endpoint.models
                ]
                self._send(200, {"object": "list", "data": models})
            else:
                self._fail(Failure(404, f"no such path: {self.path}"))

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            if self.path not in _APIS:
                self._fail(Failure(404, f"no such path: {self.path}"))
                return
            if endpoint.key is not None and self.headers.get("Authorization") != f"Bearer {endpoint.key}":
                given = self.headers.get("Authorization", "").removeprefix("Bearer ")
                self._fail(Failure(401, f"Incorrect API key provided: {given}", "invalid_api_key"))
                return
            api, check, render, events_of = _APIS[self.path]
            try:
                body = json.loads(raw)
                if body.get("model") not in endpoint.models:
                    self._fail(
                        Failure(404, f"The model '{body.get('model')}' does not exist", "model_not_found")
                    )
                    return
                for name in endpoint.refuses:
                    if name in body:
                        self._fail(_unsupported(name))
                        return
                check(body)
            except (BadRequest, ValueError, KeyError, TypeError, AttributeError) as error:
                self._fail(Failure(400, f"{type(error).__name__}: {error}", "invalid_request"))
                return
            request = Request(api, body, {name.lower(): value for name, value in self.headers.items()})
            event = endpoint.answer(request)
            if isinstance(event, Drop):
                self.close_connection = True
            elif isinstance(event, Failure):
                self._fail(event)
            else:
                time.sleep(event.delay_s)
                answer = render(endpoint.number(), endpoint.count(request), request, event)
                if body.get("stream") and endpoint.streams:
                    counted = body.get("stream_options", {}).get("include_usage") or api == "responses"
                    if not counted:
                        answer.pop("usage", None)
                    self._stream(events_of(answer), event, api)
                else:
                    self._send(200, answer)

        def _stream(self, events: Iterator[Json], answer: Answer, api: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.close_connection = True
            try:
                self.end_headers()
                for i, event in enumerate(events):
                    time.sleep(answer.piece_delay_s)
                    if i == answer.drop_after:
                        return
                    if i == answer.error_after:
                        self._event(_error_event(api), api)
                        return
                    self._event(event, api)
                if api == "chat":
                    self.wfile.write(b"data: [DONE]\n\n")
            except OSError:
                endpoint.hung_up.set()

        def _event(self, event: Json, api: str) -> None:
            name = f"event: {event['type']}\n" if api == "responses" else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()

        def _fail(self, failure: Failure) -> None:
            error = {
                "message": failure.message,
                "type": "error",
                "code": failure.code,
                "param": failure.param,
            }
            self._send(failure.status, {"error": error}, failure.headers)

        def _send(self, status: int, body: Json, headers: Iterable[tuple[str, str]] = ()) -> None:
            data = json.dumps(body).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, value in headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                self.close_connection = True

    return Handler


def _unsupported(name: str) -> Failure:
    instead = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
    words = f"Unsupported parameter: '{name}' is not supported with this model.{instead}"
    return Failure(400, words, "unsupported_parameter", param=name)


def _error_event(api: str) -> Json:
    facts = {"code": "server_error", "message": "the server broke in the middle"}
    if api == "responses":
        return {"type": "error", "sequence_number": 0, "param": None, **facts}
    return {"error": {**facts, "type": "server_error", "param": None}}


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM; the first line on stdout is the base URL."""
    parser = argparse.ArgumentParser(prog="pyrua_ros.evaluation.endpoint", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    options = parser.parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with Endpoint(port=options.port) as endpoint:
        print(endpoint.base_url, flush=True)
        stop.wait()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
