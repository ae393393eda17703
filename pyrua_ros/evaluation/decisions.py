"""The scripted model: decisions from `config/decisions.yaml`, and the built-in planner's for every other task."""

from __future__ import annotations

import json
from typing import Any

from pyrua_ros.evaluation.endpoint_script import Answer, Json, Request, cell, finish
from pyrua_ros.planner.conversation import Conversation, Exchange
from pyrua_ros.planner.models.builtin import decide
from pyrua_ros.planner.parse import Cell, Finish


def scripted_answer(request: Request) -> Answer:
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
