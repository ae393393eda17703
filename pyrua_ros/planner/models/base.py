"""What every model is to the loop: a conversation in, one reply out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyrua_ros.planner.budget import Usage
from pyrua_ros.planner.conversation import Conversation
from pyrua_ros.planner.parse import Action


@dataclass(frozen=True)
class Reply:
    """One answer of the model."""

    action: Action
    usage: Usage = field(default_factory=Usage)
    said: str = ""  # its words beside the action
    raw: str = ""  # for the record: the whole reply as text
    call_ids: tuple[str, ...] = ()
    native: Any = None  # see Exchange.native


class ModelError(Exception):
    """The model cannot be asked; the message says what happened and what to check. Not worth a retry."""


class TransientError(Exception):
    """An attempt failed, the next may not."""

    def __init__(self, message: str, retry_after_s: float | None = None, spent: Usage | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.spent = spent  # estimated, when the answer had begun: the server counts it


class Cancelled(Exception):
    """The episode ended while the model was being asked."""


class Model(Protocol):
    """Who writes the cells."""

    name: str
    billed: bool  # its tokens cost money and count against the budget
    max_corrections: int | None  # in a row before the episode fails; None = as many as it takes

    def next(
        self, conversation: Conversation, *, max_output: int, timeout_s: float, cancelled: Callable[[], bool]
    ) -> Reply:
        """Ask once; raises ModelError, TransientError or Cancelled."""

    def close(self) -> None:
        """Free connections."""
