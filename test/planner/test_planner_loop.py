from __future__ import annotations

import dataclasses

import pytest

from pyrua_ros.planner.budget import Limits, Price, Usage
from pyrua_ros.planner.conversation import ContextPolicy
from pyrua_ros.planner.loop import Control, EpisodeRules
from pyrua_ros.planner.models.base import ModelError, Reply, TransientError
from pyrua_ros.planner.observer import Observer, Outcome
from pyrua_ros.planner.parse import Finish, parse


class Scripted:
    """Says what it is told to; an exception is raised."""

    name = "scripted"
    billed = True
    max_corrections: int | None = 2

    def __init__(self, *replies, usage=None) -> None:
        self.replies = list(replies)
        self.usage = usage or Usage(input=100, output=10)
        self.seen: list = []

    def next(self, conversation, *, max_output, timeout_s, cancelled):
        self.seen.append((list(conversation.exchanges), max_output, timeout_s))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Reply):
            return reply
        return Reply(parse(reply), self.usage, raw=reply)

    def close(self) -> None:
        pass


class Done(Scripted):
    """Like Scripted, and then finishes."""

    def next(self, conversation, **options):
        if self.replies:
            return super().next(conversation, **options)
        self.seen.append((list(conversation.exchanges), 0, 0))
        return Reply(Finish("done", "seen"), self.usage)


def block(code: str) -> str:
    return f"```python\n{code}\n```"


class Log(Observer):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def retrying(self, reason, wait_s):
        self.lines.append(f"retry {reason} {wait_s:g}")

    def corrected(self, text):
        self.lines.append(f"corrected {text}")

    def cell_done(self, number, result, sent, budget):
        self.lines.append(f"cell {number} {result.status} {[f.camera for f in sent]}")

    def finished(self, outcome, budget):
        self.lines.append(f"finished {outcome.status}")


def feedback(model, turn: int) -> str:
    return model.seen[turn][0][-1].feedback


def test_the_model_reads_what_its_cell_printed_and_variables_stay(episode):
    model = Done(block("x = 20\nprint('x is', x)"), block("print(x + 1)"))
    run = episode(model)
    assert run.outcome.status == "done"
    assert run.outcome.claimed_success
    assert run.outcome.cells == 2
    assert "x is 20" in feedback(model, 1)
    assert feedback(model, 2).splitlines()[1] == "21"


def test_an_error_in_a_cell_is_told_and_the_episode_goes_on(episode):
    model = Done(block("1 / 0"))
    log = Log()
    run = episode(model, observer=log)
    assert "ZeroDivisionError: division by zero" in feedback(model, 1)
    assert log.lines == ["cell 1 error []", "finished done"]
    assert run.outcome.status == "done"


def test_a_cell_that_prints_nothing_is_told_so(episode):
    model = Done(block("x = 1"))
    episode(model)
    assert "(nothing printed)" in feedback(model, 1)


def test_each_unusable_reply_gets_one_correction_and_runs_nothing(episode):
    model = Done(
        "I will grasp it now.",
        block("print('one')") + "\n" + block("print('two')"),
        block("print('good')"),
        "Look:\n" + block("print('around')"),
    )
    run = episode(model)
    assert run.executor.cells == ["print('good')"]
    assert run.outcome.corrections == 3
    assert "words but no call" in feedback(model, 1)
    assert "2 code blocks" in feedback(model, 2)
    assert run.outcome.status == "done"


def test_too_many_unusable_replies_in_a_row_fail(episode):
    run = episode(Scripted("a", "b", "c", "d"))
    assert run.outcome.status == "failed"
    assert run.outcome.corrections == 3
    assert "3 replies in a row could not be used" in run.outcome.summary
    assert run.budget.calls == 3


def test_a_failed_attempt_is_repeated_after_the_time_that_the_server_asks_for(episode):
    log = Log()
    model = Done(TransientError("429", retry_after_s=0.01), TransientError("500"), block("x = 1"))
    run = episode(model, observer=log)
    assert log.lines[:2] == ["retry 429 0.01", "retry 500 0"]
    assert run.outcome.retries == 2
    assert run.budget.calls == 2


def test_attempts_end_with_the_last_reason(episode):
    rules = EpisodeRules(retries=2, first_wait_s=0.0)
    run = episode(Scripted(*[TransientError("the connection failed")] * 3), rules=rules)
    assert run.outcome.status == "error"
    assert run.outcome.summary == "the connection failed; gave up after 3 attempts"


def test_a_wait_longer_than_the_rules_allow_is_not_waited_for(episode):
    run = episode(Scripted(TransientError("429", retry_after_s=3600)))
    assert run.outcome.status == "error"
    assert "asks to wait 3600 s" in run.outcome.summary


def test_a_wait_beyond_the_time_that_is_left_is_over_budget(episode):
    run = episode(Scripted(TransientError("429", retry_after_s=30)), limits=Limits(seconds=5))
    assert run.outcome.status == "budget"
    assert "no time is left" in run.outcome.summary


def test_what_a_retry_cannot_mend_fails_at_once(episode):
    run = episode(Scripted(ModelError("check the key")))
    assert (run.outcome.status, run.outcome.summary, run.budget.calls) == ("error", "check the key", 0)


def test_the_cap_of_calls_ends_the_episode_with_the_sum(episode):
    model = Scripted(*[block("x = 1")] * 5)
    run = episode(model, limits=Limits(calls=3))
    assert run.outcome.status == "budget"
    assert "3 calls, 330 tokens" in run.outcome.summary
    assert "Replies left: 2." in feedback(model, 1)


def test_the_dollar_cap_is_kept_before_the_call(episode):
    price = Price(input=10.0, cached=1.0, output=100.0)
    model = Scripted(*[block("x = 1")] * 50, usage=Usage(input=100, output=300))
    run = episode(model, limits=Limits(dollars=0.1), price=price)
    assert run.outcome.status == "budget"
    assert 0.05 < run.budget.dollars <= 0.1


def test_an_unknown_price_is_an_error_before_the_first_call(episode):
    model = Scripted(block("x = 1"))
    run = episode(model, limits=Limits(dollars=1.0))
    assert run.outcome.status == "error"
    assert "price of 'scripted' is unknown" in run.outcome.summary
    assert model.seen == []


def test_only_the_newest_frames_of_a_cell_are_sent(episode):
    log = Log()
    model = Done(block("for name in 'abcde': show(name)"))
    episode(model, observer=log, rules=EpisodeRules(frames_per_turn=2))
    assert log.lines[0] == "cell 1 ok ['d', 'e']"
    assert [picture.name for picture in model.seen[1][0][-1].pictures] == ["001-1 d", "001-2 e"]
    assert "3 earlier frames of this cell were not sent" in feedback(model, 1)


def test_frames_and_prints_of_40_turns_stay_within_their_caps(episode):
    model = Done(*[block("show()\nprint('y' * 2000)")] * 40)
    policy = ContextPolicy(keep_frames=3, spare_frames=2, max_chars=20_000, keep_chars=100)
    run = episode(model, rules=EpisodeRules(context=policy))
    assert run.outcome.cells == 40
    for exchanges, _, _ in model.seen:
        shown = [p for e in exchanges for p in e.pictures if p.jpeg is not None]
        assert len(shown) <= 5
        assert sum(len(e.code) + len(e.feedback) for e in exchanges) <= 20_000


def test_a_cancel_ends_the_episode_before_the_next_call(episode, plain_executor):
    control = Control()
    model = Scripted(block("stop()"), block("never = 1"))

    executor = plain_executor(stop=lambda: control.end("cancelled", "a person cancelled"))
    run = episode(model, executor=executor, control=control)
    assert (run.outcome.status, run.outcome.summary) == ("cancelled", "a person cancelled")
    assert executor.cells == ["stop()"]


def test_the_first_reason_to_end_stands():
    control = Control()
    assert control.end("stopped", "the button")
    assert not control.end("cancelled", "later")
    assert control.ended == ("stopped", "the button")


def test_a_cell_never_outlives_the_wall_time_that_is_left(episode):
    run = episode(Done(block("x = 1")), limits=Limits(seconds=5))
    assert 0 < run.executor.deadlines[0] <= 5


def test_an_executor_without_a_kernel_ends_the_episode_with_its_reason(episode):
    class Broken:
        def run(self, code, deadline_s):
            raise RuntimeError("no kernel could be started")

    run = episode(Scripted(block("x = 1")), executor=Broken())
    assert run.outcome.status == "error"
    assert "no kernel could be started" in run.outcome.summary


def test_an_unusable_reply_that_is_broken_is_not_sent_back_in_its_own_form(episode):
    cut = Reply(parse("", truncated=True), Usage(), native={"half": True}, call_ids=("c1",))
    model = Done(cut)
    episode(model)
    exchange = model.seen[1][0][-1]
    assert exchange.native is None
    assert exchange.call_ids == ()


def test_outcome_is_a_value():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Outcome("done", "x").status = "failed"  # type: ignore[misc]
