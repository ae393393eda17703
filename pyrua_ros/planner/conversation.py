"""What the model is told, turn by turn, and what is left out once it grows: old frames, old prints, old cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol


class FrameLike(Protocol):
    """A picture that a cell showed."""

    @property
    def jpeg(self) -> bytes:
        """Encoded as it goes to the model."""

    @property
    def camera(self) -> str:
        """Which camera, or what the array was called."""

    @property
    def label(self) -> str:
        """The cell's own words, may be empty."""


@dataclass(frozen=True)
class Picture:
    """A frame in the conversation; `jpeg` is None once it was left out."""

    name: str  # unique in the run: "003-1 wrist"
    label: str
    jpeg: bytes | None

    @property
    def caption(self) -> str:
        """The line that stands before the picture, or in its place."""
        words = f"frame {self.name}" + (f": {self.label}" if self.label else "")
        return f"[{words}]" if self.jpeg is not None else f"[{words} (old, left out)]"


@dataclass(frozen=True)
class Exchange:
    """One reply and what came back for it."""

    code: str | None  # the cell, None when the reply held none
    said: str  # the reply's words
    feedback: str
    pictures: tuple[Picture, ...] = ()
    call_ids: tuple[str, ...] = ()  # tool calls of the reply that await an answer
    native: Any = None  # the reply in its API's own form, to be sent back verbatim; None = resend `said`
    compact: bool = False  # cell and feedback are shortened, `native` is gone


@dataclass(frozen=True)
class ContextPolicy:
    """How much of the past stays. Things are left out in batches, so that the prompt cache keeps hitting."""

    keep_frames: int = 6
    spare_frames: int = 4  # tolerated above keep_frames until the next batch is left out
    max_chars: int = 120_000  # of cells and feedback together
    keep_chars: int = 300  # of each feedback and each cell that was shortened


def shorten(text: str, limit: int) -> str:
    """`text`, or its start and a note of how much is gone."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[{len(text) - limit} characters left out]"


@dataclass
class Conversation:
    """The whole exchange with the model; `instructions` and `task` never change."""

    instructions: str
    task: str
    policy: ContextPolicy = field(default_factory=ContextPolicy)
    exchanges: list[Exchange] = field(default_factory=list)

    def add(self, exchange: Exchange) -> None:
        """Append a turn and leave out what the policy no longer keeps."""
        self.exchanges.append(exchange)
        self._drop_frames()
        self._shorten_texts()

    @property
    def last_feedback(self) -> str:
        """What the model was told last; empty at the start."""
        return self.exchanges[-1].feedback if self.exchanges else ""

    def characters(self) -> int:
        """Length of the cells, words and feedback, without instructions and pictures."""
        return sum(len(e.code or "") + len(e.said) + len(e.feedback) for e in self.exchanges)

    def pictures(self) -> Iterator[Picture]:
        """The pictures that are still sent, oldest first."""
        for exchange in self.exchanges:
            yield from (picture for picture in exchange.pictures if picture.jpeg is not None)

    def _drop_frames(self) -> None:
        shown = sum(1 for _ in self.pictures())
        if shown <= self.policy.keep_frames + self.policy.spare_frames:
            return
        surplus = shown - self.policy.keep_frames
        for i, exchange in enumerate(self.exchanges):
            pictures = []
            for picture in exchange.pictures:
                if picture.jpeg is not None and surplus > 0:
                    surplus -= 1
                    picture = replace(picture, jpeg=None)
                pictures.append(picture)
            self.exchanges[i] = replace(exchange, pictures=tuple(pictures))
            if surplus == 0:
                return

    def _shorten_texts(self) -> None:
        excess = self.characters() - self.policy.max_chars
        if excess <= 0:
            return
        excess += self.policy.max_chars // 3
        limit = self.policy.keep_chars
        for i, exchange in enumerate(self.exchanges[:-1]):
            if exchange.compact:
                continue
            before = len(exchange.code or "") + len(exchange.said) + len(exchange.feedback)
            short = replace(
                exchange,
                code=None if exchange.code is None else shorten(exchange.code, limit),
                said=shorten(exchange.said, limit),
                feedback=shorten(exchange.feedback, limit),
                native=None,
                compact=True,
            )
            self.exchanges[i] = short
            excess -= before - len(short.code or "") - len(short.said) - len(short.feedback)
            if excess <= 0:
                return
