"""The offline planner: a grammar over instructions, and the cells that a careful model would write.

It sees nothing but what its cells print: no ground truth, no network.
"""

from __future__ import annotations

from collections.abc import Callable

from pyrua_ros.planner.conversation import Conversation
from pyrua_ros.planner.models.base import Reply
from pyrua_ros.planner.models.builtin.episode import decide
from pyrua_ros.planner.models.builtin.grammar import CAN, understand
from pyrua_ros.planner.parse import Cell

__all__ = ["CAN", "BuiltinModel", "decide", "understand"]


class BuiltinModel:
    """`decide` as a model."""

    name = "built-in"
    billed = False
    max_corrections: int | None = 0

    def __init__(self, task: str) -> None:
        self._task = task

    def next(
        self, conversation: Conversation, *, max_output: int, timeout_s: float, cancelled: Callable[[], bool]
    ) -> Reply:
        """Return the next cell."""
        action = decide(self._task, conversation)
        return Reply(action, raw=action.code if isinstance(action, Cell) else "")

    def close(self) -> None:
        """Nothing to free."""
