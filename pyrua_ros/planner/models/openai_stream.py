"""Answers that arrive in pieces, put together; and one attempt that another thread may abandon in the middle."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

import openai
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from pyrua_ros.planner.models.base import Cancelled, TransientError

Json = dict[str, Any]


class Attempt:
    """One call on its way; `abandon` ends it at once, also while it waits for the server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stream: Any = None
        self._abandoned = False
        self.characters: int | None = None  # of the answer so far; None until it begins

    def attach(self, stream: Any) -> None:
        """The answer has begun."""
        with self._lock:
            if not self._abandoned:
                self._stream, self.characters = stream, 0
                return
        stream.close()
        raise Cancelled

    def received(self, text: str | None) -> None:
        """Count a piece of the answer."""
        self.characters = (self.characters or 0) + len(text or "")

    def abandon(self) -> None:
        """Hang up, so that the server stops writing and whoever reads gets an error."""
        with self._lock:
            self._abandoned = True
            if self._stream is None:
                return
            connection = self._stream.response.extensions.get("network_stream")
            raw = connection.get_extra_info("socket") if connection is not None else None
            if raw is not None:
                with contextlib.suppress(OSError):
                    raw.shutdown(socket.SHUT_RDWR)


def answered_whole(stream: Any) -> Json | None:
    """The answer of a server that does not stream although it was asked to; None when it streams."""
    if "json" not in stream.response.headers.get("content-type", ""):
        return None
    found = json.loads(stream.response.read())
    if not isinstance(found, dict):
        raise TransientError("the server sent JSON that is no object")
    return found


def read_response(answer: Any, attempt: Attempt) -> Response:
    """The whole of a Responses answer, streamed or not."""
    if isinstance(answer, Response):
        return answer
    attempt.attach(answer)
    whole = answered_whole(answer)
    if whole is not None:
        return Response.construct(**whole)
    items: list[Any] = []
    for event in answer:
        kind = event.type
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            response: Response = event.response
            if not response.output and items:
                response.output = items
            return response
        if kind == "response.output_item.done":
            items.append(event.item)
        elif kind == "error":
            raise_stream_error(event.code, event.message)
        elif kind.endswith(".delta"):
            attempt.received(event.delta if isinstance(event.delta, str) else "")
    raise TransientError("the answer broke off before its end")


def raise_stream_error(code: str | None, message: str) -> None:
    """Raise what an error in mid-answer means: the same types as for one instead of the answer."""
    raise openai.APIError(message, request=None, body={"code": code, "message": message})  # type: ignore[arg-type]


def read_completion(answer: Any, attempt: Attempt) -> ChatCompletion:
    """The whole of a Chat Completions answer, streamed or not."""
    if isinstance(answer, ChatCompletion):
        return answer
    attempt.attach(answer)
    whole = answered_whole(answer)
    if whole is not None:
        return ChatCompletion.construct(**whole)
    pieces = _Pieces()
    for chunk in answer:
        pieces.add(chunk.model_dump(exclude_unset=True), attempt.received)
    return pieces.completion()


class _Pieces:
    """Chunks of one chat message."""

    def __init__(self) -> None:
        self._head: Json = {}
        self._text: dict[str, list[str]] = {"content": [], "refusal": []}
        self._calls: list[Json] = []
        self._at: dict[int, Json] = {}
        self._reason: str | None = None
        self._usage: Any = None

    def add(self, chunk: Json, count: Callable[[str | None], None]) -> None:
        for name in ("id", "model", "created"):
            if chunk.get(name):
                self._head.setdefault(name, chunk[name])
        self._usage = chunk.get("usage") or self._usage
        for choice in (chunk.get("choices") or [])[:1]:
            self._reason = choice.get("finish_reason") or self._reason
            delta = choice.get("delta") or {}
            for name, found in self._text.items():
                if delta.get(name):
                    found.append(delta[name])
                    count(delta[name])
            for k, call in enumerate(delta.get("tool_calls") or []):
                count(self._add_call(call, k))

    def _add_call(self, piece: Mapping[str, Any], k: int) -> str:
        index = piece.get("index")
        index = k if index is None else index
        call = self._at.get(index)
        if call is None or (piece.get("id") and call["id"] and piece["id"] != call["id"]):
            kind = piece.get("type") or "function"
            call = {
                "id": "",
                "type": kind,
                kind: {"name": "", ("input" if kind == "custom" else "arguments"): ""},
            }
            self._calls.append(call)
            self._at[index] = call
        call["id"] = piece.get("id") or call["id"]
        body = call[call["type"]]
        given = piece.get(call["type"]) or {}
        if given.get("name") and given["name"] != body["name"]:
            body["name"] += given["name"]
        added = ""
        for name in ("arguments", "input"):
            if name in body and given.get(name):
                added = given[name]
                body[name] += added
        return added

    def completion(self) -> ChatCompletion:
        if self._reason is None:
            raise TransientError("the answer broke off before its end")
        message: Json = {
            "role": "assistant",
            "content": "".join(self._text["content"]) or None,
            "refusal": "".join(self._text["refusal"]) or None,
        }
        if self._calls:
            for k, call in enumerate(self._calls):
                call["id"] = call["id"] or f"call_{k}"
            message["tool_calls"] = self._calls
        choice = {"index": 0, "finish_reason": self._reason, "message": message, "logprobs": None}
        return ChatCompletion.construct(
            **{"object": "chat.completion", **self._head, "choices": [choice], "usage": self._usage}
        )
