"""The Responses API: cells through a free-form tool, the conversation sent whole, nothing stored at the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openai.types.responses import Response

from pyrua_ros.planner.budget import Usage
from pyrua_ros.planner.conversation import Conversation, Exchange
from pyrua_ros.planner.models.base import Reply
from pyrua_ros.planner.models.openai_client import (
    FINISH_DESCRIPTION,
    FINISH_SCHEMA,
    PYTHON_DESCRIPTION,
    Connection,
    cache_key,
    estimated_usage,
    image_url,
)
from pyrua_ros.planner.models.openai_stream import read_response
from pyrua_ros.planner.parse import FINISH, PYTHON, Call, parse

Item = dict[str, Any]

TOOLS: list[Item] = [
    {"type": "custom", "name": PYTHON, "description": PYTHON_DESCRIPTION, "format": {"type": "text"}},
    {
        "type": "function",
        "name": FINISH,
        "description": FINISH_DESCRIPTION,
        "parameters": FINISH_SCHEMA,
        "strict": True,
    },
]
_OUTPUTS = {"custom_tool_call": "custom_tool_call_output", "function_call": "function_call_output"}


class ResponsesModel:
    """One model behind one server's /responses."""

    billed = True

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.name = connection.model
        self.max_corrections: int | None = connection.settings.model.max_corrections

    def next(
        self, conversation: Conversation, *, max_output: int, timeout_s: float, cancelled: Callable[[], bool]
    ) -> Reply:
        """Ask once."""
        create = self._connection.client.responses.create
        response = self._connection.ask(
            self._request(conversation, max_output),
            lambda request, attempt: read_response(create(**request), attempt),
            timeout_s=timeout_s,
            cancelled=cancelled,
            estimate=lambda characters: self._estimate(conversation, characters),
        )
        return self._reply(response, conversation)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _request(self, conversation: Conversation, max_output: int) -> dict[str, Any]:
        connection = self._connection
        settings = connection.settings
        request: dict[str, Any] = {
            "model": self.name,
            "instructions": conversation.instructions,
            "input": items(conversation, settings.context.image_detail),
            "tools": TOOLS,
            "tool_choice": settings.model.tool_choice,
            "parallel_tool_calls": False,
            "max_output_tokens": max(max_output, 16),
            "store": False,
        }
        if settings.model.stream:
            request["stream"] = True
        if connection.reasons and settings.model.reasoning_effort is not None:
            request["reasoning"] = {"effort": settings.model.reasoning_effort}
        if connection.reasons:
            request["include"] = ["reasoning.encrypted_content"]
        if not connection.reasons and settings.model.temperature is not None:
            request["temperature"] = settings.model.temperature
        if connection.is_openai:
            request["prompt_cache_key"] = cache_key(conversation)
        return request

    def _reply(self, response: Response, conversation: Conversation) -> Reply:
        if response.status == "failed" or response.error is not None:
            code = response.error.code if response.error else None
            said = response.error.message if response.error else "no reason given"
            raise self._connection.failed_answer(code, said, self._usage(response, conversation, ""))
        texts: list[str] = []
        calls: list[Call] = []
        refusal = ""
        for item in response.output or []:
            if item.type == "message":
                for part in item.content:
                    if part.type == "output_text":
                        texts.append(part.text)
                    elif part.type == "refusal":
                        refusal = part.refusal or "no reason given"
            elif item.type == "custom_tool_call":
                calls.append(Call(item.name, item.input, free_form=True))
            elif item.type == "function_call":
                calls.append(Call(item.name, item.arguments))
        reason = response.incomplete_details.reason if response.incomplete_details else None
        if response.status == "incomplete" and reason == "content_filter":
            refusal = "content filter"
        text = "\n".join(texts)
        raw = "\n".join([text, *(f"{call.name}: {call.arguments}" for call in calls)]).strip()
        truncated = response.status == "incomplete" and not refusal
        native = native_items(response)
        return Reply(
            action=parse(text, calls, truncated=truncated, refusal=refusal),
            usage=self._usage(response, conversation, raw),
            said=text if calls else "",
            raw=raw,
            call_ids=tuple(item["call_id"] for item in native if item["type"] in _OUTPUTS),
            native=native,
        )

    def _usage(self, response: Response, conversation: Conversation, raw: str) -> Usage:
        usage = response.usage
        if usage is None or usage.input_tokens is None:
            return self._estimate(conversation, len(raw))
        cached = getattr(usage.input_tokens_details, "cached_tokens", None) or 0
        written = getattr(usage.input_tokens_details, "cache_write_tokens", None) or 0
        reasoning = getattr(usage.output_tokens_details, "reasoning_tokens", None) or 0
        return Usage(usage.input_tokens, cached, written, usage.output_tokens or 0, reasoning)

    def _estimate(self, conversation: Conversation, characters: int) -> Usage:
        return estimated_usage(conversation, characters, self._connection.settings.context.image_tokens)


def native_items(response: Response) -> list[Item]:
    """The reply as it must be sent back. Reasoning that came without its encrypted content cannot be."""
    dumped: list[Item] = [
        item.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)
        for item in response.output or []
    ]
    kept = [item for item in dumped if item["type"] != "reasoning" or item.get("encrypted_content")]
    for item in kept:
        item.pop("status", None)
        if len(kept) < len(dumped):
            item.pop("id", None)  # it would refer to the reasoning that is not sent
    return kept


def items(conversation: Conversation, image_detail: str) -> list[Item]:
    """The conversation as input items."""
    found: list[Item] = [{"role": "user", "content": [{"type": "input_text", "text": conversation.task}]}]
    for i, exchange in enumerate(conversation.exchanges):
        found.extend(_exchange_items(exchange, i, image_detail))
    return found


def _exchange_items(exchange: Exchange, i: int, image_detail: str) -> list[Item]:
    feedback: list[Item] = [{"type": "input_text", "text": exchange.feedback}]
    for picture in exchange.pictures:
        feedback.append({"type": "input_text", "text": picture.caption})
        if picture.jpeg is not None:
            feedback.append({"type": "input_image", "image_url": image_url(picture), "detail": image_detail})
    said: list[Item]
    if exchange.native is not None:
        said = list(exchange.native)
    elif exchange.code is not None:
        said = [{"type": "custom_tool_call", "call_id": f"call_{i}", "name": PYTHON, "input": exchange.code}]
    else:
        said = [{"role": "assistant", "content": exchange.said}]
    calls = [item for item in said if item.get("type") in _OUTPUTS]
    if not calls:
        return [*said, {"role": "user", "content": feedback}]
    outputs = [
        {
            "type": _OUTPUTS[call["type"]],
            "call_id": call["call_id"],
            "output": feedback if call is calls[-1] else exchange.feedback,
        }
        for call in calls
    ]
    return [*said, *outputs]
