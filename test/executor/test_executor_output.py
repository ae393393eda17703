from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrua_ros.executor.output import Bounded


@given(st.lists(st.text(alphabet="ab\n", max_size=30)), st.integers(0, 20), st.integers(1, 20))
def test_head_tail_and_cut_add_up_to_what_was_fed(
    pieces: list[str], head_chars: int, tail_chars: int
) -> None:
    bounded = Bounded(head_chars, tail_chars)
    head = "".join(bounded.feed(piece) for piece in pieces)
    tail = bounded.take_tail()
    whole = "".join(pieces)
    assert head == whole[:head_chars]
    assert tail == whole[head_chars:][-tail_chars:]
    assert len(head) + bounded.cut + len(tail) == len(whole)


@pytest.mark.parametrize("size", [1, 10_000])
def test_memory_stays_bounded_however_it_is_written(size: int) -> None:
    bounded = Bounded(10, 1000)
    for _ in range(20_000 // size * 10):
        bounded.feed("x" * size)
    assert sum(map(len, bounded._tail)) < 1000 + size


def test_a_text_within_the_bounds_loses_nothing() -> None:
    bounded = Bounded(3, 3)
    assert (bounded.feed("abc"), bounded.feed("def"), bounded.take_tail(), bounded.cut) == (
        "abc",
        "",
        "def",
        0,
    )
