"""What an episode tells while it runs; the run folder, the terminal and the ROS topics listen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pyrua_ros.planner.budget import Budget
from pyrua_ros.planner.conversation import FrameLike
from pyrua_ros.planner.models.base import Reply

Status = Literal["done", "failed", "budget", "cancelled", "stopped", "error"]


class CellResult(Protocol):
    """What running a cell gave (see `pyrua_ros.executor.client`)."""

    @property
    def status(self) -> str:
        """One of ok, error, interrupted, killed."""

    @property
    def text(self) -> str:
        """Prints, warnings and the error, capped."""

    @property
    def error(self) -> str | None:
        """The error alone."""

    @property
    def frames(self) -> Sequence[FrameLike]:
        """What the cell showed."""

    @property
    def seconds(self) -> float:
        """How long it ran."""

    @property
    def restarted(self) -> bool:
        """Whether the interpreter is a new one now."""


@dataclass(frozen=True)
class Outcome:
    """How an episode ended."""

    status: Status
    summary: str
    cells: int = 0
    corrections: int = 0
    retries: int = 0

    @property
    def claimed_success(self) -> bool:
        """Whether the model says that the task is done; nobody has checked."""
        return self.status == "done"


class Observer:
    """Every method does nothing; override what you want to hear."""

    def started(self, task: str, model: str, instructions: str) -> None:
        """The episode begins."""

    def asking(self, call: int) -> None:
        """The model is about to be asked."""

    def retrying(self, reason: str, wait_s: float) -> None:
        """An attempt failed and will be repeated."""

    def replied(self, reply: Reply, budget: Budget) -> None:
        """The model has answered."""

    def corrected(self, text: str) -> None:
        """The answer was unusable; the model is told so."""

    def cell_started(self, number: int, code: str) -> None:
        """A cell is about to run."""

    def cell_done(self, number: int, result: CellResult, sent: Sequence[FrameLike], budget: Budget) -> None:
        """A cell has ended; `sent` are the frames that go to the model."""

    def finished(self, outcome: Outcome, budget: Budget) -> None:
        """The episode is over."""


class Observers(Observer):
    """Pass everything on to several observers, in order."""

    def __init__(self, *observers: Observer) -> None:
        self.observers = observers

    def started(self, task: str, model: str, instructions: str) -> None:  # noqa: D102
        for observer in self.observers:
            observer.started(task, model, instructions)

    def asking(self, call: int) -> None:  # noqa: D102
        for observer in self.observers:
            observer.asking(call)

    def retrying(self, reason: str, wait_s: float) -> None:  # noqa: D102
        for observer in self.observers:
            observer.retrying(reason, wait_s)

    def replied(self, reply: Reply, budget: Budget) -> None:  # noqa: D102
        for observer in self.observers:
            observer.replied(reply, budget)

    def corrected(self, text: str) -> None:  # noqa: D102
        for observer in self.observers:
            observer.corrected(text)

    def cell_started(self, number: int, code: str) -> None:  # noqa: D102
        for observer in self.observers:
            observer.cell_started(number, code)

    def cell_done(  # noqa: D102
        self, number: int, result: CellResult, sent: Sequence[FrameLike], budget: Budget
    ) -> None:
        for observer in self.observers:
            observer.cell_done(number, result, sent, budget)

    def finished(self, outcome: Outcome, budget: Budget) -> None:  # noqa: D102
        for observer in self.observers:
            observer.finished(outcome, budget)
