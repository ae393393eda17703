from __future__ import annotations

import pytest

from pyrua_ros.planner.budget import Budget, Limits, OverBudget, Price, Usage
from pyrua_ros.planner.settings import planner_settings


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


PRICE = Price(input=2.0, cached=0.2, output=10.0, cache_write=2.5)


def test_dollars_count_each_kind_of_token_once():
    usage = Usage(input=1_000_000, cached=400_000, cache_write=100_000, output=50_000, reasoning=20_000)
    assert PRICE.of(usage) == pytest.approx(0.5 * 2.0 + 0.4 * 0.2 + 0.1 * 2.5 + 0.05 * 10.0)


def test_the_sum_grows_with_each_call():
    budget = Budget(Limits(), PRICE)
    budget.add(Usage(input=1000, cached=500, output=100))
    budget.add(Usage(input=2000, output=50, reasoning=20))
    assert (budget.calls, budget.usage.input, budget.usage.cached, budget.usage.output) == (2, 3000, 500, 150)
    assert budget.dollars == pytest.approx((500 * 2 + 500 * 0.2 + 100 * 10 + 2000 * 2 + 50 * 10) / 1e6)


def test_a_call_above_the_cap_of_calls_is_refused():
    budget = Budget(Limits(calls=1), PRICE)
    assert budget.allow(100, 1000) == 1000
    budget.add(Usage(input=100, output=10))
    with pytest.raises(OverBudget, match=r"cap of 1 calls .*spent: 1 calls, 110 tokens, \$0\.0003"):
        budget.allow(100, 1000)


def test_the_last_call_gets_only_the_output_that_the_dollars_allow():
    budget = Budget(Limits(dollars=0.03), PRICE)
    assert budget.allow(4000, 8000) == pytest.approx(
        2000, abs=1
    )  # $0.02 are left after 4000 in at the dearest
    budget.add(Usage(input=4000, output=1900))
    with pytest.raises(
        OverBudget, match=r"could exceed the cap of \$0\.03 \(spent: 1 calls, 5900 tokens, \$0\.0270"
    ):
        budget.allow(4500, 8000)


def test_tokens_are_capped_with_the_next_call_in_mind():
    budget = Budget(Limits(tokens=10_000), PRICE)
    budget.add(Usage(input=6000, output=500))
    assert budget.allow(2500, 8000) == 1000
    with pytest.raises(OverBudget, match="cap of 10000 tokens"):
        budget.allow(3400, 8000)


def test_time_is_capped():
    clock = Clock()
    budget = Budget(Limits(seconds=60), clock=clock, billed=False)
    assert budget.left_s == 60
    clock.now = 61.0
    with pytest.raises(OverBudget, match=r"cap of 60 s .*61 s\)"):
        budget.allow(0, 10)


def test_an_unknown_price_with_a_dollar_cap_is_an_error_before_the_first_call():
    budget = Budget(Limits(dollars=1.0), None, model="mystery-7b")
    with pytest.raises(ValueError, match="price of 'mystery-7b' is unknown.*planner.yaml.*max_dollars:=0"):
        budget.allow(10, 10)


def test_an_unknown_price_without_a_cap_stays_unknown_and_is_not_zero():
    budget = Budget(Limits(), None, model="mystery-7b")
    budget.add(Usage(input=10, output=10))
    assert budget.dollars is None
    assert "$?" in budget.spent()


def test_a_model_that_costs_nothing_needs_no_price():
    budget = Budget(Limits(calls=5, dollars=0.01, tokens=1), billed=False)
    assert budget.allow(10**6, 77) == 77
    assert budget.dollars == 0.0


def test_a_dated_model_has_the_price_of_its_family():
    settings = planner_settings()
    assert settings.price("gpt-5.4-mini-2026-03-17") == settings.price("gpt-5.4-mini")
    assert settings.price("gpt-99") is None


def test_the_default_model_has_a_price():
    settings = planner_settings()
    price = settings.price(settings.model.default)
    assert price is not None
    assert price.as_of >= "2026"
