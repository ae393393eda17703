"""An OpenAI-compatible server on this host: scripted replies, failures on demand, strict about what it is sent.

It speaks the Responses and the Chat Completions API, without streaming. Tests script it; without a script it
answers with the built-in planner's cells, so that the whole path over HTTP runs without a key or a network.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import signal
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pyrua_ros.planner.conversation import Conversation, Exchange
from pyrua_ros.planner.models.builtin import decide
from pyrua_ros.planner.parse import Cell, Finish

MODEL = "scripted"

Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """One reply of the model: words, tool calls as (name, input or arguments), and how it ended."""

    text: str = ""
    calls: tuple[tuple[str, str | Json], ...] = ()
    truncated: bool = False
    refusal: str = ""
    reasoning: str | None = None  # encrypted content of a reasoning item (Responses only)
    usage: bool = True  # False: the server does not count tokens
    delay_s: float = 0.0


@dataclass(frozen=True)
class Failure:
    """An HTTP error."""

    status: int
    message: str = "something failed"
    code: str | None = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Drop:
    """The connection is closed without an answer."""


Event = Answer | Failure | Drop


def cell(code: str, text: str = "") -> Answer:
    """A call of the tool `python`."""
    return Answer(text, (("python", code),))


def finish(status: str = "done", summary: str = "it is done") -> Answer:
    """A call of the tool `finish`."""
    return Answer(calls=(("finish", {"status": status, "summary": summary}),))


@dataclass(frozen=True)
class Request:
    """What the server was sent."""

    api: str  # responses | chat
    body: Json
    headers: dict[str, str]

    @property
    def images(self) -> list[str]:
        """Data URLs of the pictures, oldest first."""
        return [part for part in _strings(self.body) if part.startswith("data:image/")]

    @property
    def text(self) -> str:
        """Everything else, as one string."""
        return "\n".join(part for part in _strings(self.body) if not part.startswith("data:image/"))


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


class Endpoint:
    """The server; a context manager.

    Parameters
    ----------
    script
        What to answer, in order; None answers with the built-in planner's cells. When the script is over, the
        last event is repeated.
    key
        When given, any other bearer token is refused.
    models
        Names that are known.
    image_tokens
        What a picture counts for.
    """

    def __init__(
        self,
        script: Sequence[Event] | Callable[[Request], Event] | None = None,
        *,
        key: str | None = None,
        models: Sequence[str] = (MODEL,),
        image_tokens: int = 400,
        port: int = 0,
    ) -> None:
        self.requests: list[Request] = []
        self.key, self.models, self.image_tokens = key, tuple(models), image_tokens
        self._script = script if script is not None else builtin_answer
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

    def count(self, request: Request) -> tuple[int, int]:
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


class BadRequest(Exception):
    """The request is not what the API defines."""


# The Responses API


def check_responses(body: Json) -> None:
    """Raise BadRequest as the real server would: unanswered calls, answers without a call, broken parts."""
    open_calls: dict[str, str] = {}
    if not isinstance(body.get("input"), list) or not body["input"]:
        raise BadRequest("'input' must be a list of items")
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind in ("custom_tool_call", "function_call"):
            open_calls[item["call_id"]] = kind
        elif kind in ("custom_tool_call_output", "function_call_output"):
            if open_calls.pop(item["call_id"], "") != kind.removesuffix("_output"):
                raise BadRequest(f"no tool call found for {kind} with call_id {item['call_id']}")
            _check_parts(item["output"])
        elif kind == "reasoning":
            if not item.get("encrypted_content"):
                raise BadRequest("a reasoning item without encrypted_content is not stored here")
        elif kind == "message":
            if open_calls and item.get("role") == "user":
                raise BadRequest(f"no tool output found for call {next(iter(open_calls))}")
            _check_parts(item["content"])
        else:
            raise BadRequest(f"unknown item type '{kind}'")
    if open_calls:
        raise BadRequest(f"no tool output found for call {next(iter(open_calls))}")
    _check_tools({tool.get("name"): tool.get("type") for tool in body.get("tools", [])})


def _check_parts(parts: Any) -> None:
    if isinstance(parts, str):
        return
    for part in parts:
        kind = part.get("type")
        if kind == "input_image":
            if (
                not str(part.get("image_url", "")).startswith("data:image/jpeg;base64,")
                or "detail" not in part
            ):
                raise BadRequest("an input_image needs a data URL and a detail")
        elif kind not in ("input_text", "output_text", "refusal") or not isinstance(
            part.get("text", ""), str
        ):
            raise BadRequest(f"unknown content part '{kind}'")


def _check_tools(tools: Json) -> None:
    if set(tools) != {"python", "finish"}:
        raise BadRequest(f"the tools are {sorted(map(str, tools))}, expected python and finish")


def _responses_body(endpoint: Endpoint, request: Request, answer: Answer) -> Json:
    output: list[Json] = []
    number = endpoint.number()
    if answer.reasoning is not None:
        reasoning: Json = {"id": f"rs_{number}", "type": "reasoning", "summary": []}
        if answer.reasoning:
            reasoning["encrypted_content"] = answer.reasoning
        output.append(reasoning)
    if answer.text or answer.refusal:
        part: Json = {"type": "output_text", "text": answer.text, "annotations": []}
        if answer.refusal:
            part = {"type": "refusal", "refusal": answer.refusal}
        output.append(
            {
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        )
    for k, (name, argument) in enumerate(answer.calls):
        ids = {
            "id": f"ctc_{number}_{k}",
            "call_id": f"call_{number}_{k}",
            "name": name,
            "status": "completed",
        }
        if isinstance(argument, str) and name != "finish":
            output.append({"type": "custom_tool_call", "input": argument, **ids})
        else:
            text = argument if isinstance(argument, str) else json.dumps(argument)
            output.append({"type": "function_call", "arguments": text, **ids})
    body: Json = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": time.time(),
        "model": request.body["model"],
        "status": "incomplete" if answer.truncated else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if answer.truncated else None,
        "error": None,
        "output": output,
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
    }
    if answer.usage:
        inputs, cached = endpoint.count(request)
        outputs = len(json.dumps(output)) // 4
        body["usage"] = {
            "input_tokens": inputs,
            "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
            "output_tokens": outputs,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": inputs + outputs,
        }
    return body


# The Chat Completions API


def check_chat(body: Json) -> None:
    """Raise BadRequest as strict servers do."""
    open_calls: set[str] = set()
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or messages[0].get("role") != "system":
        raise BadRequest("'messages' must be a list that begins with a system message")
    for message in messages:
        role = message.get("role")
        if role == "tool":
            if message["tool_call_id"] not in open_calls:
                raise BadRequest(f"messages with role 'tool' must answer a call: {message['tool_call_id']}")
            open_calls.discard(message["tool_call_id"])
            if not isinstance(message["content"], str):
                raise BadRequest("a tool message carries text only")
            continue
        if open_calls:
            raise BadRequest(f"the call {min(open_calls)} has no tool message")
        if role == "assistant":
            for call in message.get("tool_calls", []):
                json.loads(call["function"]["arguments"])
                open_calls.add(call["id"])
            if not message.get("content") and not open_calls:
                raise BadRequest("an assistant message needs content or tool calls")
        elif role == "user":
            for part in message["content"] if isinstance(message["content"], list) else []:
                if part["type"] == "image_url" and not part["image_url"]["url"].startswith(
                    "data:image/jpeg;base64,"
                ):
                    raise BadRequest("an image_url must be a data URL here")
        elif role != "system":
            raise BadRequest(f"unknown role '{role}'")
    if open_calls:
        raise BadRequest(f"the call {min(open_calls)} has no tool message")
    _check_tools({tool["function"]["name"]: tool["type"] for tool in body.get("tools", [])})


def _chat_body(endpoint: Endpoint, request: Request, answer: Answer) -> Json:
    number = endpoint.number()
    calls = []
    for k, (name, argument) in enumerate(answer.calls):
        if name == "python" and isinstance(argument, str) and not answer.truncated:
            argument = {"code": argument}
        text = argument if isinstance(argument, str) else json.dumps(argument)
        calls.append(
            {"id": f"call_{number}_{k}", "type": "function", "function": {"name": name, "arguments": text}}
        )
    message: Json = {"role": "assistant", "content": answer.text or None, "refusal": answer.refusal or None}
    if calls:
        message["tool_calls"] = calls
    reason = "length" if answer.truncated else "tool_calls" if calls else "stop"
    body: Json = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.body["model"],
        "choices": [{"index": 0, "finish_reason": reason, "message": message, "logprobs": None}],
    }
    if answer.usage:
        inputs, cached = endpoint.count(request)
        outputs = len(json.dumps(message)) // 4
        body["usage"] = {
            "prompt_tokens": inputs,
            "completion_tokens": outputs,
            "total_tokens": inputs + outputs,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": 0},
        }
    return body


# HTTP

_APIS: dict[str, tuple[str, Callable[[Json], None], Callable[[Endpoint, Request, Answer], Json]]] = {
    "/v1/responses": ("responses", check_responses, _responses_body),
    "/v1/chat/completions": ("chat", check_chat, _chat_body),
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
            api, check, render = _APIS[self.path]
            try:
                body = json.loads(raw)
                if body.get("model") not in endpoint.models:
                    self._fail(
                        Failure(404, f"The model '{body.get('model')}' does not exist", "model_not_found")
                    )
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
                self._send(200, render(endpoint, request, event))

        def _fail(self, failure: Failure) -> None:
            error = {"message": failure.message, "type": "error", "code": failure.code, "param": None}
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


# The built-in planner as a model behind the API


def builtin_answer(request: Request) -> Answer:
    """What the built-in planner would do, told from the request alone."""
    task, conversation = (_read_responses if request.api == "responses" else _read_chat)(request.body)
    action = decide(task, conversation)
    if isinstance(action, Cell):
        return cell(action.code)
    if isinstance(action, Finish):
        return finish(action.status, action.summary)
    return Answer("I have nothing to say.")


def _task(text: str) -> str:
    return text.strip().removeprefix("Task:").strip()


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if part.get("text"))


def _read_responses(body: Json) -> tuple[str, Conversation]:
    task = _task(_plain(body["input"][0]["content"]))
    conversation = Conversation("", task)
    code: dict[str, str] = {}
    for item in body["input"][1:]:
        if item.get("type") == "custom_tool_call":
            code[item["call_id"]] = item["input"]
        elif item.get("type") == "custom_tool_call_output":
            conversation.exchanges.append(Exchange(code.get(item["call_id"]), "", _plain(item["output"])))
    return task, conversation


def _read_chat(body: Json) -> tuple[str, Conversation]:
    task = _task(_plain(body["messages"][1]["content"]))
    conversation = Conversation("", task)
    code: dict[str, str] = {}
    for message in body["messages"][2:]:
        for call in message.get("tool_calls", []):
            code[call["id"]] = json.loads(call["function"]["arguments"]).get("code", "")
        if message["role"] == "tool":
            conversation.exchanges.append(
                Exchange(code.get(message["tool_call_id"]), "", _plain(message["content"]))
            )
    return task, conversation


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
