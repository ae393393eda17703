from __future__ import annotations

import json
import math
import threading

import numpy as np
import pytest

from pyrua_ros.planner.budget import Budget, Limits, Price, Usage
from pyrua_ros.planner.joint_log import JointLog
from pyrua_ros.planner.observer import Outcome
from pyrua_ros.planner.record import RunFolder, add_facts, frame_name
from pyrua_ros.planner.video import Video


@pytest.fixture
def recorded(tmp_path, episode):
    """A run folder of a short episode by hand."""
    import io

    from pyrua_ros.planner.models.manual import ManualModel

    typed = io.StringIO("print('hi')\nshow('front', 'the table')\nshow('wrist')\n\n1/0\n\nfinish\n")
    folder = RunFolder(tmp_path / "run", {"planner": "manual", "scene": "cube_bowl", "task": "x"})
    run = episode(ManualModel(typed, io.StringIO()), task="tidy up", observer=folder)
    folder.close()
    return tmp_path / "run", run


def events(path):
    return [json.loads(line) for line in (path / "events.jsonl").read_text().splitlines()]


def test_cells_and_frames_are_kept_exactly_as_sent(recorded):
    path, _ = recorded
    assert (
        path / "cells" / "001.py"
    ).read_text() == "print('hi')\nshow('front', 'the table')\nshow('wrist')\n"
    assert (path / "cells" / "002.py").read_text() == "1/0\n"
    names = sorted(file.name for file in (path / "frames").iterdir())
    assert names == ["001-1-front.jpg", "001-2-wrist.jpg"]
    assert (path / "frames" / names[0]).read_bytes().startswith(b"\xff\xd8\xff")


def test_events_tell_the_story_in_order(recorded):
    path, _ = recorded
    found = events(path)
    kinds = [event["event"] for event in found]
    turn = ["asking", "reply", "cell", "outcome"]
    assert kinds == ["started", *turn, *turn, "asking", "reply", "finished"]
    assert found[0]["task"] == "tidy up"
    assert found[0]["planner"] == "manual"
    assert [e["status"] for e in found if e["event"] == "outcome"] == ["ok", "error"]
    assert found[4]["frames"][0] == {"file": "001-1-front.jpg", "camera": "front", "label": "the table"}
    times = [event["t"] for event in found]
    assert times == sorted(times)


def test_the_result_has_every_figure(recorded):
    path, _ = recorded
    result = json.loads((path / "result.json").read_text())
    assert result["task"] == "tidy up"
    assert (result["status"], result["claimed_success"], result["success"]) == ("done", True, None)
    assert (result["llm_calls"], result["cells"], result["planner"], result["scene"]) == (
        3,
        2,
        "manual",
        "cube_bowl",
    )
    assert set(result["tokens"]) >= {"input", "cached", "output", "reasoning"}
    assert "first_motion_s" in result


def test_tokens_and_dollars_are_in_the_result(tmp_path):
    folder = RunFolder(tmp_path)
    budget = Budget(Limits(), Price(1.0, 0.1, 10.0))
    budget.add(Usage(input=1000, cached=400, output=100, reasoning=30))
    folder.finished(Outcome("failed", "no cube"), budget)
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["tokens"] == {
        "input": 1000,
        "cached": 400,
        "cache_write": 0,
        "output": 100,
        "reasoning": 30,
    }
    assert result["dollars"] == pytest.approx(0.00164)


def test_facts_are_added_later_without_a_trace_of_the_old_file(tmp_path):
    folder = RunFolder(tmp_path)
    folder.finished(Outcome("done", "x"), Budget(Limits(), billed=False))
    add_facts(tmp_path, success=True)
    assert json.loads((tmp_path / "result.json").read_text())["success"] is True
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_events_from_several_threads_stay_whole_lines(tmp_path):
    folder = RunFolder(tmp_path)
    threads = [
        threading.Thread(target=lambda: [folder.event("gate", goal="g" * 500) for _ in range(100)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    folder.close()
    assert len(events(tmp_path)) == 400


def test_a_frame_of_an_array_has_a_safe_name():
    assert frame_name(3, 1, "../depth map") == "003-1-_depth_map.jpg"
    assert frame_name(12, 2, "") == "012-2-frame.jpg"


def test_joints_are_mapped_by_name_thinned_out_and_the_first_motion_is_found(tmp_path):
    log = JointLog(tmp_path / "j.csv", ("a", "b"), ("f1", "f2"), rate_hz=20)
    for i in range(200):
        t = i / 200
        log.add(t, {"f2": 0.02, "b": 0.5, "f1": 0.01, "a": 0.0 if t < 0.5 else t})
    log.add(1.0, {"a": 1.0})
    log.close()
    lines = (tmp_path / "j.csv").read_text().splitlines()
    assert lines[0] == "t,a,b,gripper_width"
    assert lines[1] == "0.00000,0.00000,0.50000,0.03000"
    assert len(lines) - 1 == pytest.approx(20, abs=1)
    assert log.first_motion_s == pytest.approx(0.5)


def test_without_fingers_the_width_is_unknown(tmp_path):
    log = JointLog(tmp_path / "j.csv", ("a",), ("f1", "f2"), rate_hz=20)
    log.add(0.0, {"a": 1.0})
    log.close()
    assert math.isnan(float((tmp_path / "j.csv").read_text().splitlines()[1].split(",")[-1]))


def test_the_film_keeps_the_clock_when_frames_are_missing(tmp_path):
    cv2 = pytest.importorskip("cv2")
    video = Video(tmp_path / "v.webm", rate_hz=5, width=160)
    for t in (0.0, 0.2, 0.21, 2.0, 2.2):
        video.add(t, np.full((120, 160, 3), round(t * 100), np.uint8))
    video.close()
    if video.problem:
        pytest.skip(video.problem)
    film = cv2.VideoCapture(str(tmp_path / "v.webm"))
    frames = 0
    while film.read()[0]:
        frames += 1
    assert film.get(cv2.CAP_PROP_FPS) == 5
    assert frames == 12


def test_a_film_that_cannot_be_written_says_so_and_nothing_else(tmp_path):
    video = Video(tmp_path / "no such folder" / "v.webm", rate_hz=5, width=160)
    video.add(0.0, np.zeros((120, 160, 3), np.uint8))
    video.add(0.2, np.zeros((120, 160, 3), np.uint8))
    video.close()
    assert "cannot write v.webm" in video.problem
