"""What a cell prints, within bounds: the first and the last of it, and how much lies between."""

from __future__ import annotations

from collections import deque


class Bounded:
    """Text of any length in bounded memory.

    Parameters
    ----------
    head_chars, tail_chars : how much of the beginning and of the end to keep.
    """

    def __init__(self, head_chars: int, tail_chars: int) -> None:
        self._head_room = head_chars
        self._tail_chars = tail_chars
        self._tail: deque[str] = deque()
        self._in_tail = 0
        self.cut = 0  # characters lost so far

    def feed(self, text: str) -> str:
        """Take `text`; returns the part of it that still belongs to the head."""
        head = text[: self._head_room]
        self._head_room -= len(head)
        rest = text[len(head) :] if head else text
        if rest:
            self._keep(rest)
        return head

    def _keep(self, text: str) -> None:
        if len(text) >= self._tail_chars:
            self.cut += self._in_tail + len(text) - self._tail_chars
            self._tail.clear()
            text = text[len(text) - self._tail_chars :]
            self._in_tail = 0
        self._tail.append(text)
        self._in_tail += len(text)
        while self._in_tail - len(self._tail[0]) >= self._tail_chars:
            gone = len(self._tail.popleft())
            self._in_tail -= gone
            self.cut += gone

    def take_tail(self) -> str:
        """Return the last `tail_chars` of what was not in the head, and forget them."""
        text = "".join(self._tail)
        over = max(0, len(text) - self._tail_chars)
        self.cut += over
        self._tail.clear()
        self._in_tail = 0
        return text[over:]
