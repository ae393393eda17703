"""What models and servers differ in: which optional parameters a request carries, and what a refusal teaches."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import openai

Request = dict[str, Any]

#: Families that think before they answer: they take an effort and no temperature.
_REASONING = re.compile(r"(?:.*/)?(?:o\d|gpt-(?:[5-9]|\d\d)(?!\w))(?!.*-chat)")

#: May be left out of a request without changing what it asks for.
_OPTIONAL = (
    "stream_options",
    "stream",
    "temperature",
    "reasoning_effort",
    "reasoning",
    "include",
    "store",
    "parallel_tool_calls",
    "prompt_cache_key",
)
_LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


def is_reasoning(model: str) -> bool:
    """Whether `model` belongs to a family that reasons, by its name."""
    return _REASONING.match(model) is not None


class Quirks:
    """What one server's model has refused so far; `applied` leaves that out."""

    def __init__(self) -> None:
        self._without: set[str] = set()
        self._renamed: dict[str, str] = {}
        self._choose_freely = False

    def applied(self, request: Mapping[str, Any]) -> Request:
        """Return `request` as this server takes it."""
        found = {
            self._renamed.get(name, name): value
            for name, value in request.items()
            if name not in self._without
        }
        if "stream" in self._without:
            found.pop("stream_options", None)
        if self._choose_freely and "tool_choice" in found:
            found["tool_choice"] = "auto"
        return found

    def learn(self, error: openai.APIStatusError, sent: Mapping[str, Any]) -> str | None:
        """Take the lesson of a refusal: what is left out or renamed from now on, None when it taught nothing."""
        if error.status_code not in (400, 422, 501):
            return None
        for name, other in _LIMITS.items():
            if (
                name in sent
                and other not in self._renamed
                and _blames(error, name)
                and other in _words(error)
            ):
                self._renamed[name] = other
                return f"{name} → {other}"
        if sent.get("tool_choice") == "required" and _blames(error, "tool_choice"):
            self._choose_freely = True
            return "tool_choice → auto"
        for name in _OPTIONAL:
            if name in sent and _blames(error, name):
                self._without.add(name)
                return f"without {name}"
        return None


def _words(error: openai.APIStatusError) -> str:
    return f"{json.dumps(error.body, default=str)} {error.message}"


def _blames(error: openai.APIStatusError, name: str) -> bool:
    """Whether the server says that parameter `name` is the trouble."""
    if error.param:
        return re.split(r"[.\[]", error.param)[0] == name
    quoted = rf"['\"`]{name}(?:\.\w+)?['\"`]"
    return re.search(rf"\b{name}\b" if "_" in name else quoted, _words(error)) is not None
