"""The two OpenAI APIs from the server's side: what a request must be, and an answer as one body or as events."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

from pyrua_ros.evaluation.endpoint_script import Answer, Json, Request

Counts = tuple[int, int]  # input tokens, of which cached
_PIECE = 40  # characters of one event


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


def responses_body(number: int, counts: Counts, request: Request, answer: Answer) -> Json:
    """Return `answer` as one body of the Responses API; `number` makes its ids."""
    output: list[Json] = []
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
        inputs, cached = counts
        outputs = len(json.dumps(output)) // 4
        body["usage"] = {
            "input_tokens": inputs,
            "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
            "output_tokens": outputs,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": inputs + outputs,
        }
    return body


def responses_events(body: Json) -> Iterator[Json]:
    """The same answer as the events of a stream."""
    number = itertools.count()
    begun = {**body, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "sequence_number": next(number), "response": begun}
    for i, item in enumerate(body["output"]):
        where = {"output_index": i, "item_id": item["id"]}
        yield {
            "type": "response.output_item.added",
            "sequence_number": next(number),
            "output_index": i,
            "item": item,
        }
        for kind, text, more in _response_texts(item):
            for piece in _pieces(text):
                facts = {"sequence_number": next(number), **where, **more, "delta": piece}
                yield {"type": f"response.{kind}.delta", **facts}
        yield {
            "type": "response.output_item.done",
            "sequence_number": next(number),
            "output_index": i,
            "item": item,
        }
    yield {"type": f"response.{body['status']}", "sequence_number": next(number), "response": body}


def _response_texts(item: Json) -> Iterator[tuple[str, str, Json]]:
    if item["type"] == "custom_tool_call":
        yield "custom_tool_call_input", item["input"], {}
    elif item["type"] == "function_call":
        yield "function_call_arguments", item["arguments"], {}
    for k, part in enumerate(item.get("content", [])):
        kind = part["type"]
        text = part["refusal"] if kind == "refusal" else part["text"]
        yield kind, text, {"content_index": k, **({} if kind == "refusal" else {"logprobs": []})}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


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


def chat_body(number: int, counts: Counts, request: Request, answer: Answer) -> Json:
    """Return `answer` as one body of the Chat Completions API; `number` makes its ids."""
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
        inputs, cached = counts
        outputs = len(json.dumps(message)) // 4
        body["usage"] = {
            "prompt_tokens": inputs,
            "completion_tokens": outputs,
            "total_tokens": inputs + outputs,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": 0},
        }
    return body


def chat_events(body: Json) -> Iterator[Json]:
    """The same answer as the chunks of a stream; the last one has the usage and no choice."""
    head = {key: body[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    choice = body["choices"][0]
    message = choice["message"]

    def chunk(delta: Json, reason: str | None = None) -> Json:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "usage": None}

    yield chunk({"role": "assistant", "content": ""})
    for name in ("content", "refusal"):
        for piece in _pieces(message.get(name) or ""):
            yield chunk({name: piece})
    for k, call in enumerate(message.get("tool_calls", [])):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield chunk(
            {"tool_calls": [{"index": k, "id": call["id"], "type": "function", "function": function}]}
        )
        for piece in _pieces(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": k, "function": {"arguments": piece}}]})
    yield chunk({}, choice["finish_reason"])
    if "usage" in body:
        yield {**head, "choices": [], "usage": body["usage"]}
