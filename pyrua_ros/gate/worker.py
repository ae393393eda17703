"""A thread that checks the newest trajectory for collisions while the gate goes on.

A thread is enough: MuJoCo works outside Python's lock most of the time. It holds one question at a time; a
newer one, or none, ends the check under way at its next posture.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Check(Protocol):
    """What `PathChecker.check` is."""

    def __call__(
        self,
        times: FloatArray,
        positions: FloatArray,
        width: float | None,
        wanted: Callable[[], bool],
        /,
    ) -> str:
        """Return what is wrong, or an empty string."""


class CheckWorker:
    """Runs one check at a time.

    Parameters
    ----------
    check : called in the worker's thread.
    wake : called in the worker's thread when an answer is there for `answer`.
    """

    def __init__(self, check: Check, wake: Callable[[], None]) -> None:
        self._check = check
        self._wake = wake
        self._changed = threading.Condition()
        self._question: tuple[int, FloatArray, FloatArray, float | None] | None = None
        self._wanted = 0
        self._answer: tuple[int, str] | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="collisions", daemon=True)
        self._thread.start()

    def ask(self, number: int, times: FloatArray, positions: FloatArray, width: float | None) -> None:
        """Check question `number` (> 0) instead of whatever was asked before."""
        with self._changed:
            self._question, self._wanted, self._answer = (number, times, positions, width), number, None
            self._changed.notify()

    def forget(self) -> None:
        """Let go of the question that was asked."""
        with self._changed:
            self._question, self._wanted, self._answer = None, 0, None

    def answer(self) -> tuple[int, str] | None:
        """Return number and outcome of the question that was asked last, once."""
        with self._changed:
            answer, self._answer = self._answer, None
            return answer

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closing, self._wanted = True, 0
            self._changed.notify()
        self._thread.join(timeout=2.0)

    def _work(self) -> None:
        while True:
            with self._changed:
                while self._question is None and not self._closing:
                    self._changed.wait()
                if self._question is None:
                    return
                (number, times, positions, width), self._question = self._question, None
            try:
                outcome = self._check(times, positions, width, lambda asked=number: self._wanted == asked)  # type: ignore[misc]
            except Exception as error:  # noqa: BLE001
                # Not checked is not passed.
                outcome = f"the collision check failed: {type(error).__name__}: {error}"
            with self._changed:
                if self._wanted != number:
                    continue
                self._answer = (number, outcome)
            self._wake()
