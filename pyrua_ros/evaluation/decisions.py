"""The scripted model: decisions from `config/decisions.yaml`, and the built-in planner's for every other task."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator
from typing_extensions import Self

from pyrua_ros import paths
from pyrua_ros.evaluation.endpoint_script import Answer, Json, Request, cell, finish
from pyrua_ros.planner.conversation import Conversation, Exchange
from pyrua_ros.planner.models.builtin import decide
from pyrua_ros.planner.parse import Cell, Finish
from pyrua_ros.robot_model.profile import explain, read_yaml

ATTEMPTS = 3


class Decision(BaseModel):
    """One reply: a cell, or the end."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    say: str = ""
    cell: str | None = None
    expect: re.Pattern[str] | None = None
    finish: Literal["done", "failed"] | None = None
    summary: str = ""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.cell is None) == (self.finish is None):
            raise ValueError("a decision has either a cell or a finish")
        return self


class Script(BaseModel):
    """What is decided for the tasks that fit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: re.Pattern[str]
    decisions: tuple[Decision, ...]

    def play(self, task: re.Match[str], conversation: Conversation) -> Answer:
        """Return the next decision after `conversation`, in which one exchange follows from each."""
        position, attempt, last = 0, 1, ""
        for exchange in conversation.exchanges:
            last, expect = exchange.feedback, self.decisions[position].expect
            met = expect is None or expect.search(last) is not None
            position, attempt = (position + 1, attempt) if met else (0, attempt + 1)
        if attempt > ATTEMPTS:
            return finish("failed", f"after {ATTEMPTS} attempts; the last cell said: {last.strip()[-200:]}")
        decision = self.decisions[min(position, len(self.decisions) - 1)]
        if decision.finish is not None:
            return finish(decision.finish, _filled(decision.summary, task))
        return cell(_filled(decision.cell or "", task), decision.say)


def _filled(text: str, task: re.Match[str]) -> str:
    for name, words in task.groupdict().items():
        text = text.replace(f"{{{name}}}", words)
    return text


@lru_cache(maxsize=1)
def scripts() -> tuple[Script, ...]:
    """Read `config/decisions.yaml`; raises ConfigError."""
    path = paths.share() / "config" / "decisions.yaml"
    try:
        return TypeAdapter(tuple[Script, ...]).validate_python(read_yaml(path))
    except ValidationError as error:
        raise explain(path, error) from None


def scripted_answer(request: Request) -> Answer:
    """Return what the scripted model would do, told from the request alone."""
    task, conversation = (_read_responses if request.api == "responses" else _read_chat)(request.body)
    for script in scripts():
        match = script.task.fullmatch(task.lower().rstrip("."))
        if match is not None:
            return script.play(match, conversation)
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
