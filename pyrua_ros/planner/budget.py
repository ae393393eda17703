"""Calls, tokens, dollars and time: what was spent, and whether the next call may be made."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Usage:
    """Tokens of one call. `cached` and `cache_write` are parts of `input`, `reasoning` is a part of `output`."""

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    estimated: bool = False  # the server did not say; counted from the characters

    @property
    def total(self) -> int:
        """Everything that counts against a token cap."""
        return self.input + self.output


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens."""

    input: float
    cached: float
    output: float
    cache_write: float | None = None  # None: as input
    as_of: str = ""  # date on which it was read

    def of(self, usage: Usage) -> float:
        """Dollars for `usage`."""
        write = self.input if self.cache_write is None else self.cache_write
        fresh = usage.input - usage.cached - usage.cache_write
        dollars = (
            fresh * self.input
            + usage.cached * self.cached
            + usage.cache_write * write
            + usage.output * self.output
        )
        return dollars / 1e6

    @property
    def dearest_input(self) -> float:
        """The most that an input token can cost."""
        return max(self.input, self.cached, self.cache_write or 0.0)


@dataclass(frozen=True)
class Limits:
    """Caps of one episode; None = no cap."""

    calls: int | None = None
    tokens: int | None = None
    dollars: float | None = None
    seconds: float | None = None


class OverBudget(Exception):
    """The next call could exceed a cap; the message names it and gives the sum so far."""


#: Below this many output tokens a call is not worth making.
SMALLEST_OUTPUT = 256


class Budget:
    """The account of one episode. Time starts with the object."""

    def __init__(
        self,
        limits: Limits,
        price: Price | None = None,
        *,
        model: str = "the model",
        billed: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self.price = price
        self.calls = 0
        self.usage = Usage()
        self.dollars: float | None = 0.0 if price is not None or not billed else None
        self._model = model
        self._billed = billed
        self._clock = clock
        self._start = clock()

    @property
    def elapsed_s(self) -> float:
        """Since the start of the episode."""
        return self._clock() - self._start

    @property
    def left_s(self) -> float:
        """Wall time that is left; infinite without a cap."""
        return float("inf") if self.limits.seconds is None else self.limits.seconds - self.elapsed_s

    @property
    def calls_left(self) -> int | None:
        """Calls that are left; None without a cap."""
        return None if self.limits.calls is None else self.limits.calls - self.calls

    def spent(self) -> str:
        """The sum so far, in words."""
        dollars = "" if not self._billed else ", $?" if self.dollars is None else f", ${self.dollars:.4f}"
        return f"{self.calls} calls, {self.usage.total} tokens{dollars}, {self.elapsed_s:.0f} s"

    def check(self) -> None:
        """Raise ValueError when the caps cannot be kept at all."""
        if self._billed and self.limits.dollars is not None and self.price is None:
            raise ValueError(
                f"max_dollars is {self.limits.dollars:g}, but the price of '{self._model}' is unknown: add it under "
                "'prices' in config/planner.yaml, or set max_dollars:=0 to run without a dollar cap"
            )

    def allow(self, input_estimate: int, wanted_output: int) -> int:
        """How many output tokens the next call may produce; raises OverBudget when it must not be made."""
        self.check()
        if self.limits.calls is not None and self.calls >= self.limits.calls:
            raise OverBudget(f"the cap of {self.limits.calls} calls is reached (spent: {self.spent()})")
        if self.left_s <= 0:
            raise OverBudget(f"the cap of {self.limits.seconds:g} s is reached (spent: {self.spent()})")
        if not self._billed:
            return wanted_output
        output = wanted_output
        if self.limits.tokens is not None:
            output = min(output, self.limits.tokens - self.usage.total - input_estimate)
            if output < min(SMALLEST_OUTPUT, wanted_output):
                raise OverBudget(
                    f"the next call (~{input_estimate} tokens in) could exceed the cap of {self.limits.tokens} tokens "
                    f"(spent: {self.spent()})"
                )
        if self.limits.dollars is not None and self.price is not None and self.dollars is not None:
            left = self.limits.dollars - self.dollars - input_estimate * self.price.dearest_input / 1e6
            if self.price.output > 0:
                output = min(output, int(left / self.price.output * 1e6))
            if left < 0 or output < min(SMALLEST_OUTPUT, wanted_output):
                raise OverBudget(
                    f"the next call (~{input_estimate} tokens in) could exceed the cap of ${self.limits.dollars:g} "
                    f"(spent: {self.spent()})"
                )
        return output

    def add(self, usage: Usage) -> None:
        """Book one call."""
        self.calls += 1
        self.usage = Usage(
            input=self.usage.input + usage.input,
            cached=self.usage.cached + usage.cached,
            cache_write=self.usage.cache_write + usage.cache_write,
            output=self.usage.output + usage.output,
            reasoning=self.usage.reasoning + usage.reasoning,
            estimated=self.usage.estimated or usage.estimated,
        )
        if self.dollars is not None and self.price is not None and self._billed:
            self.dollars += self.price.of(usage)
