"""Case U75: nothing is feasible, and the answer says what comes nearest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Answer

WORDS = (
    "plan", "--model", "llama-3.1-70b", "--tokens", "1e12", "--seq-len", 8192,
    "--sku", "h100-sxm5-80gb", "--count", 64, "--recompute", "full",
)  # fmt: skip


@pytest.fixture
def answer(forerun: Callable[..., Answer]) -> Any:
    found = forerun(*WORDS, "--usd", 10, "--days", "1h", "--json")
    assert found.status == 0
    return found.json


def test_u75_the_broken_limits_are_listed_with_what_they_would_have_to_be(answer: Any) -> None:
    broken = {row["limit"]: row for row in answer["shortfall"]["violated"]}
    assert set(broken) == {"budget.usd", "budget.days"}
    assert broken["budget.usd"]["needed"] == pytest.approx(answer["cost"]["usd"])
    assert broken["budget.days"]["allowed"] == pytest.approx(1 / 24)


def test_u75_the_least_violating_plan_is_nearer_than_the_one_asked_for(answer: Any) -> None:
    nearest = answer["shortfall"]["nearest"]
    before = {row["limit"]: row["factor"] for row in answer["shortfall"]["violated"]}
    after = {row["limit"]: row["factor"] for row in nearest["violated"]}
    assert after["budget.days"] * after["budget.usd"] < (
        before["budget.days"] * before["budget.usd"]
    )


def test_u75_what_to_relax_and_by_how_much(answer: Any, forerun: Callable[..., Answer]) -> None:
    relax = {row["limit"]: row for row in answer["shortfall"]["relax"]}
    assert not any(row["alone"] for row in relax.values())
    days = f"{relax['budget.days']['to'] * 1.001}days"
    usd = relax["budget.usd"]["to"] * 1.001
    changed = answer["shortfall"]["nearest"]["changes"]
    flags = ["--count", changed["hardware.count"], "--global-batch", 256]
    flags += ["--mode", changed.get("price.mode", "on-demand")]
    found = forerun(*WORDS, "--usd", usd, "--days", days, *flags, "--json").json
    assert found["shortfall"] is None


def test_u75_one_broken_limit_is_the_single_one_to_relax(forerun: Callable[..., Answer]) -> None:
    found = forerun(*WORDS, "--usd", 10, "--json").json
    (row,) = found["shortfall"]["relax"]
    assert (row["limit"], row["alone"]) == ("budget.usd", True)
    text = forerun(*WORDS, "--usd", 10).out
    assert "that alone is enough" in text
