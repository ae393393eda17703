from __future__ import annotations

import json
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from pyrua_ros import scored_run
from pyrua_ros.arguments import parse
from pyrua_ros.scored_run import ScoredRun, is_own_task, scene_task, scripted_model, summary


@pytest.fixture
def keyless(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_without_a_key_the_scripted_model_is_played_on_a_local_endpoint(keyless, capsys) -> None:
    with scripted_model(parse(["planner:=openai"])) as args:
        assert args.model == "scripted"
        assert args.base_url is not None
        with urllib.request.urlopen(f"{args.base_url}/models", timeout=10) as response:
            assert json.load(response)["data"][0]["id"] == "scripted"
    assert capsys.readouterr().out == "no OPENAI_API_KEY: playing the scripted model on a local endpoint\n"


@pytest.mark.parametrize(
    "words",
    [
        ["planner:=builtin"],
        ["planner:=openai", "base_url:=http://localhost:8000/v1"],
        ["planner:=openai", "model:=gpt-6.1-sol"],
    ],
)
def test_whoever_names_a_model_or_an_address_gets_that(keyless, capsys, words) -> None:
    with scripted_model(parse(words)) as args:
        assert args == parse(words)
    assert capsys.readouterr().out == ""


def test_with_a_key_the_real_model_is_asked(keyless) -> None:
    keyless.setenv("OPENAI_API_KEY", "sk-1")
    with scripted_model(parse(["planner:=openai"])) as args:
        assert args.base_url is None


def test_only_the_scenes_own_task_is_scored() -> None:
    own = scene_task(parse([]))
    assert is_own_task(own)
    assert is_own_task(replace(own, task="Put the red cube in the bowl."))
    assert not is_own_task(replace(own, task="put the blue cube in the bowl"))


def test_a_task_that_nobody_can_check_is_shown_as_not_scored(tmp_path: Path) -> None:
    args = parse(['task:=put the "blue" cube away', f"run_dir:={tmp_path}"])
    result = scored_run._complete(tmp_path, {}, args)
    assert (result["success"], result["scored"], result["task"]) == (None, False, 'put the "blue" cube away')
    run = ScoredRun(tmp_path, None, "", None, {**result, "status": "done"}, None, 1.0, own_task=False)
    assert dict(summary(run))["success"] == "not scored: only the scene's own task can be checked"
    assert run.exit_code == 0
