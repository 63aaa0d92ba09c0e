"""Limits of money, time and energy: kept or broken, and what would have to give."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.planning.limits import highest_price, violations_of
from planner.planning.plan import plan
from tests.planning.jobs import bones, job


def test_limits_that_are_kept_break_nothing() -> None:
    run = job(budget__usd="1M", budget__days=400, budget__kwh="1GWh")
    made = plan(run)
    assert made.shortfall is None
    assert (made.run.finish_by_deadline, made.cost.within_budget) == (True, True)
    assert made.energy.within_budget is True


@pytest.mark.parametrize(
    ("key", "value"), [("budget.usd", 10), ("budget.days", "1h"), ("budget.kwh", 5)]
)
def test_a_broken_limit_says_what_it_would_have_to_be(key: str, value: object) -> None:
    run = job().changed({key: value})
    (broken,) = violations_of(bones(run))
    assert broken.limit == key
    assert not violations_of(bones(run.changed({key: broken.needed * 1.0001})))


def test_relaxing_the_only_broken_limit_is_enough() -> None:
    found = plan(job(budget__usd=10)).shortfall
    assert found is not None
    assert found["what"] == "budget.usd"
    (row,) = found["relax"]
    assert (row["limit"], row["alone"]) == ("budget.usd", True)


def test_a_deadline_asks_for_more_accelerators() -> None:
    days = plan(job()).run.seconds / 86_400
    found = plan(job(budget__days=0.4 * days)).shortfall
    assert found is not None
    assert found["nearest"]["changes"]["hardware.count"] > 64
    assert found["nearest"]["violated"] == []


def test_the_highest_price_within_a_budget() -> None:
    outline = bones(job(budget__usd=1000))
    price = highest_price(outline)
    assert price is not None
    assert price * outline.run.device_hours == pytest.approx(1000)


def test_a_budget_without_a_known_price_is_said_to_be_unchecked() -> None:
    run = job(budget__usd=10, price__mode="reserved")
    made = plan(run)
    assert made.cost.usd is None
    assert made.cost.within_budget is None
    assert any("budget.usd is not checked" in text for text in made.warnings)


@settings(max_examples=20)
@given(st.integers(1, 10**4))
def test_cost_is_linear_in_device_hours(billions: int) -> None:
    outline = bones(job(data__tokens=billions * 10**9))
    assert outline.cost.usd is not None
    assert outline.cost.per_device_hour is not None
    assert outline.cost.usd == pytest.approx(
        outline.run.device_hours * outline.cost.per_device_hour
    )
