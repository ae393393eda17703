"""The latch on the disk."""

from __future__ import annotations

import json

import pytest

from pyrua_ros.gate.latch import Latch


def test_a_new_latch_is_open(tmp_path):
    assert Latch(tmp_path / "gate").read() is None


def test_a_written_stop_is_read_by_the_next_process(tmp_path):
    Latch(tmp_path).write("button")
    assert Latch(tmp_path).read() == "button"
    assert [path.name for path in tmp_path.iterdir()] == ["stop.json"]


def test_a_cleared_latch_is_open_again(tmp_path):
    latch = Latch(tmp_path)
    latch.write("button")
    assert latch.clear()
    assert latch.read() is None
    assert latch.clear()


def test_a_latch_that_is_wanted_again_is_not_cleared(tmp_path):
    latch = Latch(tmp_path)
    latch.write("second")
    assert not latch.clear(lambda: False)
    assert latch.read() == "second"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"time": 1}', b"\xff\xfe", b"null"])
def test_a_corrupt_latch_means_stopped(tmp_path, content):
    (tmp_path / "stop.json").write_bytes(content)
    assert Latch(tmp_path).read() == f"the stop latch {tmp_path / 'stop.json'} is unreadable"


def test_a_half_written_draft_of_a_crash_does_not_matter(tmp_path):
    (tmp_path / "stop.draft").write_text("{")
    latch = Latch(tmp_path)
    assert latch.read() is None
    latch.write("button")
    assert json.loads((tmp_path / "stop.json").read_text())["reason"] == "button"
