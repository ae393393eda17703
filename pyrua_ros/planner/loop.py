"""One episode: ask the model, run its cell, tell it what happened, until it is over."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pyrua_ros.planner.budget import Budget, OverBudget
from pyrua_ros.planner.conversation import ContextPolicy, Conversation, Exchange, FrameLike, Picture
from pyrua_ros.planner.models.base import Cancelled, Model, ModelError, Reply, TransientError
from pyrua_ros.planner.observer import CellResult, Observer, Outcome, Status
from pyrua_ros.planner.parse import Cell, Finish


class Executor(Protocol):
    """Who runs a cell."""

    def run(self, code: str, deadline_s: float) -> CellResult:
        """Run to the end, or until the deadline interrupts it; raises RuntimeError when nothing can be run."""


class Control:
    """Ends an episode from outside; the first word stands. Safe from any thread."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._ended: tuple[Status, str] | None = None

    def end(self, status: Status, reason: str) -> bool:
        """Ask the episode to end; False when it was told before."""
        with self._lock:
            if self._ended is not None:
                return False
            self._ended = (status, reason)
        self._event.set()
        return True

    @property
    def ended(self) -> tuple[Status, str] | None:
        """Status and reason once `end` was called."""
        return self._ended

    def wait(self, seconds: float) -> bool:
        """Sleep, but no longer than until the end; True when ended."""
        return self._event.wait(seconds)


@dataclass(frozen=True)
class EpisodeRules:
    """How an episode is run; `config/planner.yaml` holds the values."""

    cell_deadline_s: float = 120.0
    max_output_tokens: int = 6000
    frames_per_turn: int = 4
    image_tokens: int = 800
    call_timeout_s: float = 120.0
    retries: int = 5  # of one call
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    context: ContextPolicy = field(default_factory=ContextPolicy)


def run_episode(
    *,
    instructions: str,
    task: str,
    task_card: str,
    model: Model,
    executor: Executor,
    budget: Budget,
    observer: Observer,
    control: Control,
    rules: EpisodeRules,
) -> Outcome:
    """Run until the model finishes, the budget ends, or `control` says so.

    Parameters
    ----------
    instructions
        The part of the prompt that never changes.
    task, task_card
        The person's words, and the message that carries them to the model.
    """
    episode = _Episode(instructions, task_card, model, executor, budget, observer, control, rules)
    observer.started(task, model.name, instructions)
    outcome = episode.run()
    observer.finished(outcome, budget)
    return outcome


class _Over(Exception):
    """Leaves the loop with a status."""

    def __init__(self, status: Status, summary: str) -> None:
        super().__init__(summary)
        self.status: Status = status
        self.summary = summary


class _Episode:
    def __init__(
        self,
        instructions: str,
        task_card: str,
        model: Model,
        executor: Executor,
        budget: Budget,
        observer: Observer,
        control: Control,
        rules: EpisodeRules,
    ) -> None:
        self.conversation = Conversation(instructions, task_card, rules.context)
        self.model, self.executor, self.budget = model, executor, budget
        self.observer, self.control, self.rules = observer, control, rules
        self.cells = self.corrections = self.in_a_row = self.retries = 0
        self.tokens_per_estimate = 1.0

    def run(self) -> Outcome:
        try:
            while True:
                self._turn()
        except _Over as over:
            return Outcome(over.status, over.summary, self.cells, self.corrections, self.retries)

    def _turn(self) -> None:
        reply = self._ask()
        if isinstance(reply.action, Cell):
            self.in_a_row = 0
            self._run_cell(reply, reply.action.code)
        elif isinstance(reply.action, Finish):
            raise _Over(reply.action.status, reply.action.summary)
        else:
            self._correct(reply, reply.action.correction, reply.action.resend)

    def _leave_if_ended(self) -> None:
        if self.control.ended is not None:
            raise _Over(*self.control.ended)

    # Asking

    def _ask(self) -> Reply:
        estimate = self._estimate_input()
        wait_s = self.rules.first_wait_s
        for attempt in range(self.rules.retries + 1):
            self._leave_if_ended()
            try:
                max_output = self.budget.allow(
                    round(estimate * self.tokens_per_estimate), self.rules.max_output_tokens
                )
                self.observer.asking(self.budget.calls + 1)
                reply = self.model.next(
                    self.conversation,
                    max_output=max_output,
                    timeout_s=min(self.rules.call_timeout_s, self.budget.left_s),
                    cancelled=lambda: self.control.ended is not None,
                )
            except OverBudget as error:
                raise _Over("budget", str(error)) from None
            except (ModelError, ValueError) as error:
                raise _Over("error", str(error)) from None
            except Cancelled:
                self._leave_if_ended()
                raise _Over("cancelled", "the model was not asked to the end") from None
            except TransientError as error:
                if error.spent is not None:
                    self.budget.add(error.spent)
                if attempt == self.rules.retries:
                    raise _Over("error", f"{error}; gave up after {attempt + 1} attempts") from None
                self._wait_before_retry(error, wait_s)
                wait_s = min(2 * wait_s, self.rules.longest_wait_s)
                continue
            self.budget.add(reply.usage)
            if reply.usage.input and estimate:
                self.tokens_per_estimate = max(1.0, reply.usage.input / estimate)
            self.observer.replied(reply, self.budget)
            return reply
        raise AssertionError("unreachable")

    def _wait_before_retry(self, error: TransientError, wait_s: float) -> None:
        if error.retry_after_s is not None:
            wait_s = max(error.retry_after_s, 0.0)
            if wait_s > self.rules.longest_wait_s:
                raise _Over(
                    "error", f"{error}; the server asks to wait {wait_s:.0f} s: try again later"
                ) from None
        if wait_s >= self.budget.left_s:
            raise _Over(
                "budget", f"{error}; no time is left to try again (spent: {self.budget.spent()})"
            ) from None
        self.retries += 1
        self.observer.retrying(str(error), wait_s)
        self.control.wait(wait_s)

    def _estimate_input(self) -> int:
        text = (
            len(self.conversation.instructions) + len(self.conversation.task) + self.conversation.characters()
        )
        return text // 3 + self.rules.image_tokens * sum(1 for _ in self.conversation.pictures())

    # Answering

    def _correct(self, reply: Reply, correction: str, resend: bool) -> None:
        self.corrections += 1
        self.in_a_row += 1
        self.observer.corrected(correction)
        cap = self.model.max_corrections
        if cap is not None and self.in_a_row > cap:
            raise _Over(
                "failed", f"{self.in_a_row} replies in a row could not be used; the last: {correction}"
            )
        self.conversation.add(
            Exchange(
                code=None,
                said=reply.said or "(no usable reply)",
                feedback=correction,
                call_ids=reply.call_ids if resend else (),
                native=reply.native if resend else None,
            )
        )

    def _run_cell(self, reply: Reply, code: str) -> None:
        self._leave_if_ended()
        self.cells += 1
        number = self.cells
        self.observer.cell_started(number, code)
        deadline_s = max(min(self.rules.cell_deadline_s, self.budget.left_s), 0.1)
        try:
            result = self.executor.run(code, deadline_s)
        except RuntimeError as error:
            raise _Over("error", f"the cell could not be run: {error}") from None
        sent = tuple(result.frames)[-self.rules.frames_per_turn :]
        self.observer.cell_done(number, result, sent, self.budget)
        self.conversation.add(
            Exchange(
                code=code,
                said=reply.said,
                feedback=self._feedback(number, result, len(result.frames) - len(sent)),
                pictures=pictures(number, sent),
                call_ids=reply.call_ids,
                native=reply.native,
            )
        )
        self._leave_if_ended()

    def _feedback(self, number: int, result: CellResult, hidden: int) -> str:
        lines = [f"cell {number}: {result.status} in {result.seconds:.1f} s"]
        lines.append(result.text.rstrip("\n") or "(nothing printed)")
        if hidden:
            lines.append(
                f"{hidden} earlier frames of this cell were not sent: at most {self.rules.frames_per_turn}."
            )
        left = self.budget.calls_left
        if left is not None and left <= 3:
            lines.append(f"Replies left: {left}.")
        return "\n".join(lines)


def pictures(cell: int, frames: Sequence[FrameLike]) -> tuple[Picture, ...]:
    """Frames as they stand in the conversation."""
    return tuple(
        Picture(f"{cell:03d}-{k} {frame.camera}", frame.label, frame.jpeg)
        for k, frame in enumerate(frames, start=1)
    )
