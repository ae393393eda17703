from __future__ import annotations

import io
import os

import pytest

from pyrua_ros.planner.models.base import Cancelled, ModelError
from pyrua_ros.planner.models.factory import Choice, make_model
from pyrua_ros.planner.models.manual import ManualModel
from pyrua_ros.planner.models.replay import ReplayModel
from pyrua_ros.planner.record import RunFolder
from pyrua_ros.planner.settings import planner_settings


def test_a_run_folder_is_replayed_in_order(tmp_path, episode):
    (tmp_path / "cells").mkdir()
    for number, code in enumerate(["x = 1", "print(x + 1)", "print('last')"], start=1):
        (tmp_path / "cells" / f"{number:03d}.py").write_text(code)
    run = episode(ReplayModel(tmp_path))
    assert run.executor.cells == ["x = 1", "print(x + 1)", "print('last')"]
    assert (run.outcome.status, run.outcome.summary) == ("done", "replayed 3 cells")


def test_what_was_recorded_can_be_replayed(tmp_path, episode):
    first = ManualModel(io.StringIO("y = 5\n\nprint(y)\n\nfinish failed it was dark\n"), io.StringIO())
    recorded = RunFolder(tmp_path / "run")
    run = episode(first, observer=recorded)
    assert run.outcome.status == "failed"
    again = episode(ReplayModel(tmp_path / "run"))
    assert again.executor.cells == ["y = 5", "print(y)"]
    assert again.outcome.status == "failed"
    assert "it was dark" in again.outcome.summary


def test_one_file_is_one_cell(tmp_path, episode):
    (tmp_path / "wave.py").write_text("print('wave')\n")
    assert episode(ReplayModel(tmp_path / "wave.py")).executor.cells == ["print('wave')"]


def test_nothing_to_replay_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"nothing to replay in '.*': expected a run folder"):
        ReplayModel(tmp_path)


def test_a_file_that_does_not_compile_ends_the_replay(tmp_path, episode):
    (tmp_path / "a.py").write_text("if x\n")
    run = episode(ReplayModel(tmp_path))
    assert run.outcome.status == "error"
    assert "a.py" in run.outcome.summary
    assert run.executor.cells == []


def test_a_person_types_cells_and_finishes(episode):
    typed = io.StringIO("\nfor i in range(2):\n    print(i)\n\nfinish looks good to me\n")
    run = episode(ManualModel(typed, io.StringIO()))
    assert run.executor.cells == ["for i in range(2):\n    print(i)"]
    assert (run.outcome.status, run.outcome.summary) == ("done", "looks good to me")


def test_a_typing_error_is_shown_and_can_be_repeated_for_ever(episode):
    screen = io.StringIO()
    typed = io.StringIO("if\n\n" * 6 + "x = 1\n\nfinish\n")
    run = episode(ManualModel(typed, screen))
    assert run.outcome.corrections == 6
    assert run.outcome.status == "done"
    assert "does not compile" in screen.getvalue()


def test_the_end_of_the_input_ends_the_task(episode):
    run = episode(ManualModel(io.StringIO("x = 1"), io.StringIO()))
    assert run.outcome.status == "failed"
    assert run.outcome.summary == "the input ended"


def test_lines_that_arrive_together_are_read_one_by_one_and_a_cancel_ends_the_wait():
    from pyrua_ros.planner.conversation import Conversation

    reading, writing = os.pipe()
    with open(reading) as source, open(writing, "w") as keyboard:
        keyboard.write("a = 1\n\nb = 2\n\n")
        keyboard.flush()
        model = ManualModel(source, io.StringIO())
        options = {"max_output": 1, "timeout_s": 1.0}
        first = model.next(Conversation("", ""), **options, cancelled=lambda: False)
        second = model.next(Conversation("", ""), **options, cancelled=lambda: False)
        assert (first.action.code, second.action.code) == ("a = 1", "b = 2")
        with pytest.raises(Cancelled):
            model.next(Conversation("", ""), **options, cancelled=lambda: True)


def test_an_unknown_planner_lists_what_there_is():
    with pytest.raises(ValueError, match="unknown planner 'gpt'; there are: builtin, openai, replay, manual"):
        make_model(Choice("gpt"), "task", planner_settings())


def test_replay_without_a_path_says_what_is_missing():
    with pytest.raises(ValueError, match="needs replay:="):
        make_model(Choice("replay"), "task", planner_settings())
