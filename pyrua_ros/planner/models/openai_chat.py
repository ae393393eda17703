"""The Chat Completions API, for every compatible server: cells through a function tool, frames as user messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from openai.types.chat import ChatCompletion

from pyrua_ros.planner.budget import Usage
from pyrua_ros.planner.conversation import Conversation, Exchange
from pyrua_ros.planner.models.base import Reply, TransientError
from pyrua_ros.planner.models.openai_client import (
    FINISH_DESCRIPTION,
    FINISH_SCHEMA,
    PYTHON_DESCRIPTION,
    Connection,
    cache_key,
    estimated_usage,
    image_url,
    limits_name,
)
from pyrua_ros.planner.models.openai_stream import read_completion
from pyrua_ros.planner.parse import FINISH, PYTHON, Call, parse

Message = dict[str, Any]

_PYTHON_SCHEMA = {
    "type": "object",
    "properties": {"code": {"type": "string", "description": "the cell"}},
    "required": ["code"],
    "additionalProperties": False,
}
TOOLS: list[Message] = [
    {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
    for name, description, schema in (
        (PYTHON, PYTHON_DESCRIPTION, _PYTHON_SCHEMA),
        (FINISH, FINISH_DESCRIPTION, FINISH_SCHEMA),
    )
]


class ChatModel:
    """One model behind one server's /chat/completions."""

    billed = True

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.name = connection.model
        self.max_corrections: int | None = connection.settings.model.max_corrections

    def next(
        self, conversation: Conversation, *, max_output: int, timeout_s: float, cancelled: Callable[[], bool]
    ) -> Reply:
        """Ask once."""
        create = self._connection.client.chat.completions.create
        completion = self._connection.ask(
            self._request(conversation, max_output),
            lambda request, attempt: read_completion(create(**request), attempt),
            timeout_s=timeout_s,
            cancelled=cancelled,
            estimate=lambda characters: self._estimate(conversation, characters),
        )
        return self._reply(completion, conversation)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _request(self, conversation: Conversation, max_output: int) -> dict[str, Any]:
        connection = self._connection
        settings = connection.settings
        request: dict[str, Any] = {
            "model": self.name,
            "messages": messages(conversation, settings.context.image_detail),
            "tools": TOOLS,
            "tool_choice": settings.model.tool_choice,
            "parallel_tool_calls": False,
            limits_name(connection): max_output,
        }
        if settings.model.stream:
            request.update(stream=True, stream_options={"include_usage": True})
        if connection.reasons and settings.model.reasoning_effort is not None:
            request["reasoning_effort"] = settings.model.reasoning_effort
        if not connection.reasons and settings.model.temperature is not None:
            request["temperature"] = settings.model.temperature
        if connection.is_openai:
            request.update(store=False, prompt_cache_key=cache_key(conversation))
        return request

    def _reply(self, completion: ChatCompletion, conversation: Conversation) -> Reply:
        if not completion.choices:
            raise TransientError(f"{self._connection.base_url} sent an answer without choices")
        choice = completion.choices[0]
        message = choice.message
        calls: list[Call] = []
        native_calls: list[Message] = []
        for call in message.tool_calls or []:
            if call.type == "custom":
                calls.append(Call(call.custom.name, call.custom.input, free_form=True))
                function = {"name": call.custom.name, "input": call.custom.input}
                native_calls.append({"id": call.id, "type": "custom", "custom": function})
            else:
                calls.append(Call(call.function.name or "", call.function.arguments or ""))
                function = {"name": call.function.name, "arguments": call.function.arguments}
                native_calls.append({"id": call.id, "type": "function", "function": function})
        text = message.content or ""
        refusal = message.refusal or ("content filter" if choice.finish_reason == "content_filter" else "")
        raw = "\n".join([text, *(f"{call.name}: {call.arguments}" for call in calls)]).strip()
        native: Message = {"role": "assistant", "content": text}
        if native_calls:
            native["tool_calls"] = native_calls
        elif not text:
            native["content"] = refusal or "(an empty reply)"
        return Reply(
            action=parse(text, calls, truncated=choice.finish_reason == "length", refusal=refusal),
            usage=self._usage(completion, conversation, raw),
            said=text if calls else "",
            raw=raw,
            call_ids=tuple(call["id"] for call in native_calls),
            native=native,
        )

    def _usage(self, completion: ChatCompletion, conversation: Conversation, raw: str) -> Usage:
        usage = completion.usage
        if usage is None or usage.prompt_tokens is None:
            return self._estimate(conversation, len(raw))
        cached = getattr(usage.prompt_tokens_details, "cached_tokens", None) or 0
        written = getattr(usage.prompt_tokens_details, "cache_write_tokens", None) or 0
        reasoning = getattr(usage.completion_tokens_details, "reasoning_tokens", None) or 0
        return Usage(usage.prompt_tokens, cached, written, usage.completion_tokens or 0, reasoning)

    def _estimate(self, conversation: Conversation, characters: int) -> Usage:
        return estimated_usage(conversation, characters, self._connection.settings.context.image_tokens)


def messages(conversation: Conversation, image_detail: str) -> list[Message]:
    """The conversation as chat messages."""
    found: list[Message] = [
        {"role": "system", "content": conversation.instructions},
        {"role": "user", "content": conversation.task},
    ]
    for i, exchange in enumerate(conversation.exchanges):
        found.extend(_exchange_messages(exchange, i, image_detail))
    return found


def _exchange_messages(exchange: Exchange, i: int, image_detail: str) -> list[Message]:
    gone = [picture.caption for picture in exchange.pictures if picture.jpeg is None]
    feedback = "\n".join([exchange.feedback, *gone])
    parts: list[Message] = []
    for picture in exchange.pictures:
        if picture.jpeg is not None:
            parts.append({"type": "text", "text": picture.caption})
            url = {"url": image_url(picture)}
            parts.append(
                {
                    "type": "image_url",
                    "image_url": url if image_detail == "auto" else {**url, "detail": image_detail},
                }
            )
    said = exchange.native or _said_again(exchange, i)
    calls = said.get("tool_calls", [])
    if not calls:
        content: Any = [{"type": "text", "text": feedback}, *parts] if parts else feedback
        return [said, {"role": "user", "content": content}]
    answers: list[Message] = [
        {"role": "tool", "tool_call_id": call["id"], "content": feedback} for call in calls
    ]
    if parts:
        answers.append({"role": "user", "content": parts})
    return [said, *answers]


def _said_again(exchange: Exchange, i: int) -> Message:
    """A reply whose own form is gone."""
    if exchange.code is None:
        return {"role": "assistant", "content": exchange.said}
    function = {"name": PYTHON, "arguments": json.dumps({"code": exchange.code})}
    return {
        "role": "assistant",
        "content": exchange.said,
        "tool_calls": [{"id": f"call_{i}", "type": "function", "function": function}],
    }
