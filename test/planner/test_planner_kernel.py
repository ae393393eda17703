"""Episodes whose cells misbehave, with the real kernel."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from pyrua_ros.evaluation.endpoint import Endpoint, Failure, cell, finish
from pyrua_ros.executor.client import KernelClient
from pyrua_ros.planner.budget import Price
from pyrua_ros.planner.loop import EpisodeRules
from pyrua_ros.planner.models.base import Reply
from pyrua_ros.planner.models.openai_client import openai_model
from pyrua_ros.planner.parse import Cell, Finish
from pyrua_ros.planner.settings import planner_settings


class Cells:
    """A model that sends these cells and keeps what it is told."""

    name = "cells"
    billed = False
    max_corrections = 0

    def __init__(self, *cells: str) -> None:
        self._cells = list(cells)
        self.told: list[str] = []

    def next(self, conversation, **options):
        if conversation.exchanges:
            self.told.append(conversation.last_feedback)
        return Reply(Cell(self._cells.pop(0)) if self._cells else Finish("done", "all sent"))

    def close(self) -> None:
        pass


@pytest.fixture
def kernel(tmp_path):
    """A kernel without a robot, and how often it asked for a hold."""
    holds: list[int] = []
    short = Path(tempfile.mkdtemp(prefix="pyrua-", dir="/tmp"))
    client = KernelClient("", tmp_path / "workspace", short, lambda: holds.append(1), grace_s=1.0)
    client.holds = holds
    try:
        client.start(60.0)
        yield client
    finally:
        client.shutdown()
        shutil.rmtree(short, ignore_errors=True)


def test_cells_that_misbehave_are_stopped_and_the_episode_goes_on(episode, kernel):
    model = Cells(
        "kept = 7",
        "while True:\n    pass",
        "import time\nwhile True:\n    try:\n        time.sleep(9)\n    except Exception:\n        pass",
        "print('x' * 50_000_000)",
        "exit()",
        "print('kept is', kept)",
        "while True:\n    try:\n        time.sleep(9)\n    except:\n        pass",
        "print('kept' in globals(), np.pi)",
    )
    run = episode(model, executor=kernel, rules=EpisodeRules(cell_deadline_s=2.0))
    assert (run.outcome.status, run.outcome.cells) == ("done", 8)
    _, endless, swallows, floods, exits, kept, stubborn, fresh = model.told
    assert "cell 2: interrupted" in endless
    assert "it ran longer than 2 s" in endless
    assert "cell 3: interrupted" in swallows
    assert len(floods) < 10_000
    assert "characters cut" in floods
    assert "session goes on" in exits
    assert "kept is 7" in kept
    assert "cell 7: killed" in stubborn
    assert "all variables and imports are lost" in stubborn
    assert "False 3.14159" in fresh
    assert len(kernel.holds) == 3


def test_frames_and_errors_of_the_kernel_reach_the_conversation(episode, kernel):
    show = (
        "import base64\n"
        "from IPython.display import display\n"
        "jpeg = base64.b64encode(b'\\xff\\xd8picture').decode()\n"
        "about = {'pyrua': {'camera': 'front', 'label': 'here'}}\n"
        "display({'image/jpeg': jpeg}, raw=True, metadata=about)\n"
        "{}['key']"
    )

    class Keeps(Cells):
        pictures = ()

        def next(self, conversation, **options):
            if conversation.exchanges:
                Keeps.pictures = conversation.exchanges[-1].pictures
            return super().next(conversation, **options)

    model = Keeps(show)
    episode(model, executor=kernel)
    assert "KeyError: 'key'" in model.told[0]
    assert [(p.name, p.label, p.jpeg) for p in Keeps.pictures] == [
        ("001-1 front", "here", b"\xff\xd8picture")
    ]


@pytest.mark.parametrize("api", ["responses", "chat"])
def test_a_model_over_http_lives_through_its_own_bad_cells_and_the_servers_bad_days(
    api, episode, kernel, monkeypatch
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    script = [
        cell("kept = 7"),
        Failure(429, "slow down", headers=(("retry-after", "0"),)),
        cell("while True:\n    pass"),
        cell("print('x' * 500_000)"),
        cell("exit()"),
        cell("print('kept is', kept)"),
        finish(),
    ]
    with Endpoint(script) as server:
        model = openai_model("scripted", server.base_url, api, planner_settings())
        rules = EpisodeRules(cell_deadline_s=2.0, first_wait_s=0.0)
        run = episode(model, executor=kernel, rules=rules, price=Price(0, 0, 0))
        model.close()
    assert (run.outcome.status, run.outcome.cells, run.outcome.retries) == ("done", 5, 1)
    told = server.requests[-1].text
    assert "cell 2: interrupted" in told
    assert "it ran longer than 2 s" in told
    assert "characters cut" in told
    assert "session goes on" in told
    assert "kept is 7" in told
    assert len(told) < 40_000
    assert len(kernel.holds) >= 1
