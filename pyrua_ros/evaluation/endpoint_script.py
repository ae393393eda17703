"""What the test endpoint can be told to do: answers, failures, dropped connections; and what it was sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

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
    delay_s: float = 0.0  # before the answer begins
    piece_delay_s: float = 0.0  # before each piece of a streamed answer
    drop_after: int | None = None  # pieces of a streamed answer, then the connection is closed
    error_after: int | None = None  # pieces, then an error instead of the rest


@dataclass(frozen=True)
class Failure:
    """An HTTP error."""

    status: int
    message: str = "something failed"
    code: str | None = None
    param: str | None = None
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
