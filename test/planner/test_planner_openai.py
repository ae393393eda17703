from __future__ import annotations

import dataclasses
import threading
import time

import numpy as np
import pytest

from pyrua_ros.evaluation.endpoint import Answer, Drop, Endpoint, Failure, cell, finish
from pyrua_ros.planner.budget import Limits, Price
from pyrua_ros.planner.conversation import ContextPolicy
from pyrua_ros.planner.loop import Control, EpisodeRules
from pyrua_ros.planner.models.base import ModelError
from pyrua_ros.planner.models.openai_client import openai_model
from pyrua_ros.planner.models.quirks import is_reasoning
from pyrua_ros.planner.observer import Observer, Observers
from pyrua_ros.planner.record import RunFolder
from pyrua_ros.planner.settings import planner_settings
from pyrua_ros.planner.terminal import Terminal

APIS = ("responses", "chat")
KEY = "sk-test-0123456789"
FREE = Price(0, 0, 0)


@pytest.fixture(params=APIS)
def api(request) -> str:
    return request.param


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


class Log(Observer):
    def __init__(self) -> None:
        self.retries: list[tuple[str, float]] = []
        self.said: list[str] = []

    def retrying(self, reason, wait_s):
        self.retries.append((reason, wait_s))

    def replied(self, reply, budget):
        self.said.append(reply.said)


@pytest.fixture
def ask(episode):
    """Run an episode against a scripted server: `ask(api, script, …)` → (run, server)."""

    def run(api, script, *, model="scripted", base_url=None, server=None, settings=None, **options):
        with Endpoint(script, **{"models": ("scripted", "gpt-6.1-sol"), **(server or {})}) as endpoint:
            settings = settings or planner_settings()
            client = openai_model(model, base_url or endpoint.base_url, api, settings)
            try:
                options.setdefault("price", FREE)
                options.setdefault("observer", Log())
                return episode(client, **options), endpoint
            finally:
                client.close()

    return run


def test_a_cell_and_its_frame_go_there_and_back(ask, api):
    run, server = ask(
        api, [cell("print('hello ' + 'world')\nshow('wrist', 'the cube')", "Looking."), finish()]
    )
    assert run.outcome.status == "done"
    assert run.outcome.summary == "it is done"
    assert run.executor.cells == ["print('hello ' + 'world')\nshow('wrist', 'the cube')"]
    first, second = server.requests
    assert first.api == api
    assert first.images == []
    assert "instructions" in first.text
    assert "Task: do it" in first.text
    assert "hello world" in second.text
    assert "[frame 001-1 wrist: the cube]" in second.text
    assert len(second.images) == 1
    assert run.observer.said[0] == "Looking."


def test_tokens_are_booked_as_the_server_counts_them(ask, api):
    run, _ = ask(api, [cell("x = 1"), finish()], price=Price(1.0, 0.1, 10.0))
    assert run.budget.calls == 2
    assert run.budget.usage.input > 0
    assert run.budget.usage.output > 0
    assert not run.budget.usage.estimated
    assert run.budget.dollars == pytest.approx((run.budget.usage.input + 10 * run.budget.usage.output) / 1e6)


def test_the_prompt_cache_hits_because_the_prefix_is_stable(ask, api):
    long = [cell(f"print('{i} ' * 900)") for i in range(6)]
    run, _ = ask(api, [*long, finish()])
    assert run.budget.usage.cached > 0.5 * run.budget.usage.input


def test_a_server_that_does_not_count_is_estimated_and_said_so(ask, api):
    run, _ = ask(api, [dataclasses.replace(cell("x = 1"), usage=False), finish()])
    assert run.budget.usage.estimated
    assert run.budget.usage.input > 0


@pytest.mark.parametrize(
    "text",
    [
        "First I open the gripper.",
        "Like so:\n```python\nprint(1)\n```\nand then we see.",
        "```python\nprint(1)\n```\n```python\nprint(2)\n```",
    ],
)
def test_words_and_several_blocks_get_one_correction_and_run_nothing(ask, api, text):
    run, server = ask(api, [Answer(text), cell("print('right')"), finish()])
    assert run.executor.cells == ["print('right')"]
    assert run.outcome.corrections == 1
    assert run.outcome.status == "done"
    assert "run" in server.requests[1].text.split(text[:10])[-1]


@pytest.mark.parametrize("text", ["```py\nprint('a')\n```", "```python\r\nprint('a')\r\n```\r\n"])
def test_a_reply_that_is_nothing_but_one_block_is_run(ask, api, text):
    run, _ = ask(api, [Answer(text), finish()])
    assert run.executor.cells == ["print('a')"]
    assert run.outcome.corrections == 0


def test_a_truncated_reply_is_never_run_and_never_sent_back(ask, api):
    half = Answer(
        calls=(("python", "print('half')" if api == "responses" else '{"code": "print(1'),), truncated=True
    )
    run, server = ask(api, [half, cell("print('whole')"), finish()])
    assert run.executor.cells == ["print('whole')"]
    assert "cut off at the token limit" in server.requests[1].text
    assert "half" not in server.requests[1].text
    assert run.outcome.status == "done"


def test_an_unknown_tool_and_a_refusal_are_corrected(ask, api):
    script = [
        Answer(calls=(("move_robot", {"x": 1}),)),
        Answer(refusal="I would rather not"),
        finish("failed", "no"),
    ]
    run, server = ask(api, script)
    assert run.outcome.status == "failed"
    assert run.outcome.corrections == 2
    assert "There is no tool 'move_robot'" in server.requests[1].text
    assert "You declined (I would rather not)" in server.requests[2].text


def test_two_calls_in_one_reply_are_both_answered_and_none_is_run(ask, api):
    run, server = ask(api, [Answer(calls=(("python", "a = 1"), ("python", "b = 2"))), finish()])
    assert run.executor.cells == []
    assert run.outcome.corrections == 1
    assert server.requests[1].text.count("2 tool calls") == 2


def test_a_wrong_finish_is_corrected(ask, api):
    run, _ = ask(api, [Answer(calls=(("finish", {"status": "super"}),)), finish()])
    assert run.outcome.status == "done"
    assert run.outcome.corrections == 1


def test_429_is_repeated_after_the_time_that_it_names(ask, api):
    failure = Failure(429, "slow down", "rate_limit_exceeded", headers=(("retry-after", "0.02"),))
    run, server = ask(api, [failure, cell("x = 1"), finish()])
    assert run.outcome.status == "done"
    assert run.outcome.retries == 1
    reason, wait_s = run.observer.retries[0]
    assert "429: slow down" in reason
    assert wait_s == 0.02
    assert len(server.requests) == 3


def test_500_and_a_dropped_connection_are_repeated_and_not_by_the_sdk(ask, api):
    run, server = ask(api, [Failure(500), Drop(), Failure(503, "busy"), cell("x = 1"), finish()])
    assert run.outcome.status == "done"
    assert run.outcome.retries == 3
    assert len(server.requests) == 5
    assert all(request.headers["x-stainless-retry-count"] == "0" for request in server.requests)


def test_attempts_are_capped(ask, api):
    run, server = ask(api, [Failure(500, "broken")], rules=EpisodeRules(retries=2, first_wait_s=0.0))
    assert run.outcome.status == "error"
    assert "answered 500" in run.outcome.summary
    assert "gave up after 3 attempts" in run.outcome.summary
    assert len(server.requests) == 3


def test_a_refused_key_fails_at_once_says_what_to_check_and_keeps_the_key_to_itself(ask, api):
    run, _ = ask(api, [cell("x = 1")], server={"key": "another"})
    assert run.outcome.status == "error"
    assert "check OPENAI_API_KEY" in run.outcome.summary
    assert KEY not in run.outcome.summary
    assert run.outcome.retries == 0


def test_an_unknown_model_fails_at_once_and_is_named(ask, api):
    run, _ = ask(api, [cell("x = 1")], model="gpt-99")
    assert run.outcome.status == "error"
    assert "'gpt-99'" in run.outcome.summary
    assert "check model:=" in run.outcome.summary
    assert run.outcome.retries == 0


def test_an_account_without_quota_fails_at_once(ask, api):
    run, _ = ask(api, [Failure(429, "You exceeded your current quota", "insufficient_quota")])
    assert run.outcome.status == "error"
    assert "check its billing" in run.outcome.summary
    assert run.outcome.retries == 0


def test_a_wrong_path_says_what_to_check(ask, api):
    with Endpoint([finish()]) as other:
        run, _ = ask(api, [finish()], base_url=other.base_url.replace("/v1", "/v2"))
    assert run.outcome.status == "error"
    assert "check model:= and base_url:=" in run.outcome.summary


def test_nobody_listening_is_repeated_and_then_said(ask, api):
    rules = EpisodeRules(retries=1, first_wait_s=0.0)
    run, _ = ask(api, [finish()], base_url="http://127.0.0.1:9/v1", rules=rules)
    assert run.outcome.status == "error"
    assert "the connection to http://127.0.0.1:9/v1 failed" in run.outcome.summary
    assert run.outcome.retries == 1


def test_a_server_that_does_not_answer_in_time_is_repeated(ask, api):
    rules = EpisodeRules(call_timeout_s=0.3, first_wait_s=0.0)
    run, _ = ask(api, [dataclasses.replace(cell("x = 1"), delay_s=1.0), finish()], rules=rules)
    assert run.outcome.status == "done"
    assert run.outcome.retries == 1
    assert run.executor.cells == []


def test_a_cancel_does_not_wait_for_the_server(ask, api):
    control = Control()
    threading.Timer(0.3, lambda: control.end("cancelled", "enough")).start()
    start = time.monotonic()
    run, _ = ask(api, [dataclasses.replace(cell("x = 1"), delay_s=8.0)], control=control)
    assert run.outcome.status == "cancelled"
    assert time.monotonic() - start < 6


def test_the_budget_is_checked_before_the_call(ask, api):
    run, server = ask(api, [cell("x = 1")], limits=Limits(dollars=0.0001), price=Price(5.0, 0.5, 30.0))
    assert run.outcome.status == "budget"
    assert server.requests == []
    assert "0 calls" in run.outcome.summary


def test_a_model_without_a_price_is_refused_before_the_call(ask, api):
    run, server = ask(api, [cell("x = 1")], limits=Limits(dollars=1.0), price=None)
    assert run.outcome.status == "error"
    assert "price of 'scripted' is unknown" in run.outcome.summary
    assert server.requests == []


def test_over_40_turns_old_frames_become_stubs_and_requests_stay_valid(ask, api):
    policy = ContextPolicy(keep_frames=3, spare_frames=2, max_chars=6000, keep_chars=80)
    script = [*[cell(f"show()\nprint('turn {i} ' * 40)") for i in range(1, 41)], finish()]
    run, server = ask(api, script, rules=EpisodeRules(context=policy))
    assert run.outcome.status == "done"
    assert run.outcome.cells == 40
    assert max(len(request.images) for request in server.requests) == 5
    last = server.requests[-1]
    assert "[frame 001-1 front (old, left out)]" in last.text
    assert "[frame 040-1 front]" in last.text
    assert "turn 40 turn 40" in last.text
    assert len(last.text) < 40_000


def test_reasoning_is_sent_back_only_with_its_encrypted_content(ask):
    script = [
        dataclasses.replace(cell("a = 1"), reasoning="secret"),
        dataclasses.replace(cell("b = 2"), reasoning=""),
        finish(),
    ]
    run, server = ask("responses", script)
    assert run.outcome.status == "done"
    kinds = [item.get("type", item.get("role")) for item in server.requests[-1].body["input"]]
    call = ["custom_tool_call", "custom_tool_call_output"]
    assert kinds == ["user", "reasoning", *call, *call]
    assert "id" not in server.requests[-1].body["input"][4]


def test_nothing_is_stored_at_the_server(ask):
    _, server = ask("responses", [finish()])
    assert server.requests[0].body["store"] is False


def test_a_missing_key_for_openai_says_what_to_do(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelError, match=r"OPENAI_API_KEY is not set.*planner:=builtin"):
        openai_model("gpt-6.1-sol", "", "auto", planner_settings())


def test_an_address_that_is_none_is_named():
    with pytest.raises(ModelError, match="'localhost:8000' is no address"):
        openai_model("x", "localhost:8000", "auto", planner_settings())


def test_auto_speaks_chat_with_other_servers(ask):
    _, server = ask("auto", [finish()])
    assert server.requests[0].api == "chat"
    assert server.requests[0].body["max_tokens"] > 0


def test_the_run_folder_and_the_terminal_never_hold_the_key(ask, api, tmp_path):
    lines: list[str] = []
    recorded = RunFolder(tmp_path)
    failure = Failure(400, f"you sent {KEY} and that is wrong")
    observer = Observers(recorded, Terminal(lines.append))
    ask(api, [Failure(500, f"{KEY} broke me"), cell("print(1)"), failure], observer=observer)
    recorded.close()
    written = "".join(path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file())
    assert "*** broke me" in written
    assert "you sent *** and that is wrong" in written
    assert KEY not in written + "".join(lines)


@pytest.mark.parametrize(
    ("task", "summary"),
    [
        ("put the red cube in the bowl", "The red cube is in the bowl; I have seen it there."),
        (
            "pick up the red cube and put it into the bowl",
            "the red cube is in the bowl, 0 mm from its middle",
        ),
    ],
)
def test_without_a_script_the_server_plays_its_decisions_or_the_built_in_planner(
    ask, api, table_top, plain_executor, task, summary
):
    run, server = ask(api, None, task=task, executor=plain_executor(robo=table_top(), np=np))
    assert run.outcome.status == "done"
    assert run.outcome.summary == summary
    assert len(server.requests) == run.outcome.cells + 1


def with_model(**changes):
    settings = planner_settings()
    return settings.model_copy(update={"model": settings.model.model_copy(update=changes)})


@pytest.fixture(params=["streamed", "whole", "not asked to stream"])
def manner(request):
    """Keywords for `ask`: how the answer arrives."""
    return {
        "streamed": {},
        "whole": {"server": {"streams": False}},
        "not asked to stream": {"settings": with_model(stream=False)},
    }[request.param]


def test_an_answer_is_the_same_however_it_arrives(ask, api, manner):
    code = "print('ä' * 3)\n" + "x = 1\n" * 60
    script = [cell(code, "I look first. " * 9), Answer(calls=(("python", "a"), ("python", "b"))), finish()]
    run, server = ask(api, script, **manner)
    assert run.executor.cells == [code.strip("\n")]
    assert run.observer.said[0].strip() == ("I look first. " * 9).strip()
    assert run.outcome.corrections == 1
    assert run.outcome.status == "done"
    assert not run.budget.usage.estimated
    assert server.requests[0].body.get("stream", False) is ("settings" not in manner)


def test_a_stream_that_breaks_off_is_repeated_and_what_it_cost_is_booked(ask, api):
    half = dataclasses.replace(cell("x = 'half'" + " " * 400), drop_after=6)
    run, server = ask(api, [half, cell("x = 1"), finish()], price=Price(1.0, 0.1, 10.0))
    assert run.executor.cells == ["x = 1"]
    assert run.outcome.retries == 1
    assert len(server.requests) == 3
    assert run.budget.calls == 3
    assert run.budget.usage.estimated


def test_an_error_in_the_middle_of_a_stream_is_repeated(ask, api):
    broken = dataclasses.replace(cell("x = 'half'" + " " * 400), error_after=4)
    run, _ = ask(api, [broken, cell("x = 1"), finish()])
    assert run.executor.cells == ["x = 1"]
    assert "ended its answer with an error: the server broke in the middle" in run.observer.retries[0][0]


def test_a_stream_that_trickles_ends_at_the_deadline(ask, api):
    slow = dataclasses.replace(cell("x = 'half'" + " " * 4000), piece_delay_s=0.05)
    rules = EpisodeRules(call_timeout_s=0.5, first_wait_s=0.0)
    run, server = ask(api, [slow, finish()], rules=rules)
    assert run.outcome.status == "done"
    assert run.executor.cells == []
    assert "within 0.5 s" in run.observer.retries[0][0]
    assert server.hung_up.wait(5.0)


def test_a_cancel_in_mid_answer_hangs_up(ask, api):
    control = Control()
    slow = dataclasses.replace(cell("x = 'half'" + " " * 4000), piece_delay_s=0.05)

    def script(request):
        threading.Timer(0.3, lambda: control.end("cancelled", "enough")).start()
        return slow

    run, server = ask(api, script, control=control)
    assert (run.outcome.status, run.outcome.summary) == ("cancelled", "enough")
    assert run.executor.cells == []
    assert server.hung_up.wait(5.0)


@pytest.mark.parametrize(
    "refused", ["stream", "stream_options", "parallel_tool_calls", "max_tokens", "store"]
)
def test_what_a_server_does_not_take_is_left_out_from_then_on(ask, api, refused):
    run, server = ask(api, [cell("x = 1"), finish()], server={"refuses": (refused,)})
    assert run.outcome.status == "done"
    assert run.outcome.retries == 0
    assert all(refused not in request.body for request in server.requests)
    assert len(server.requests) == 2


def test_a_server_that_leaves_no_choice_of_tools_is_asked_with_auto(ask, api):
    def script(request):
        if request.body["tool_choice"] == "required":
            return Failure(400, "tool_choice must be auto", param="tool_choice")
        return finish()

    run, server = ask(api, script)
    assert run.outcome.status == "done"
    assert [request.body["tool_choice"] for request in server.requests] == ["required", "auto"]


def test_models_that_reason_get_an_effort_and_no_temperature(ask, api):
    settings = with_model(reasoning_effort="low", temperature=0.2)
    _, server = ask(api, [finish()], model="gpt-6.1-sol", settings=settings)
    body = server.requests[0].body
    assert "temperature" not in body
    if api == "chat":
        assert body["reasoning_effort"] == "low"
        assert body["max_completion_tokens"] > 0
        assert "max_tokens" not in body
    else:
        assert body["reasoning"] == {"effort": "low"}
        assert body["include"] == ["reasoning.encrypted_content"]


def test_models_that_do_not_reason_get_a_temperature_and_no_effort(ask, api):
    _, server = ask(api, [finish()], settings=with_model(reasoning_effort="low", temperature=0.2))
    body = server.requests[0].body
    assert body["temperature"] == 0.2
    assert not {"reasoning", "reasoning_effort", "include"} & set(body)


@pytest.mark.parametrize(
    ("model", "reasons"),
    [
        ("o3", True),
        ("o4-mini", True),
        ("gpt-6.1-sol", True),
        ("openai/gpt-5", True),
        ("gpt-5-chat-latest", False),
        ("gpt-4.1", False),
        ("qwen3-vl", False),
        ("opus", False),
    ],
)
def test_the_families_that_reason_are_known_by_their_names(model, reasons):
    assert is_reasoning(model) is reasons
