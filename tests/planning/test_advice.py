"""Advice: changes that were really planned, beyond the noise."""

from __future__ import annotations

import pytest

from planner.planning.advice import MOST, NOISE, advice_of, gains_of
from planner.planning.plan import plan
from tests.planning.jobs import A100, bones, fine_tune, job


def test_what_a_gain_promises_is_what_planning_the_change_gives() -> None:
    run = job()
    before = plan(run)
    for gain in gains_of(bones(run)):
        after = plan(run.changed(gain.variant.changes))
        assert 1 - after.run.seconds / before.run.seconds == pytest.approx(gain.time)
        assert max(gain.time, gain.cost or 0.0) >= NOISE


def test_advice_is_short_and_names_each_idea_once() -> None:
    rows = advice_of(bones(job()))
    assert 0 < len(rows) <= MOST
    assert len({row["change"] for row in rows}) == len(rows)
    assert all(row["effect"] for row in rows)


def test_recomputation_that_is_not_needed_is_advised_away() -> None:
    run = job("gpt2-124m", data__seq_len=1024, hardware__count=8)
    assert any("recompute none" in row["change"] for row in advice_of(bones(run)))


def test_fp8_is_advised_only_where_the_hardware_has_it() -> None:
    def advised(sku: str) -> bool:
        return any("fp8" in row["change"] for row in advice_of(bones(job(hardware__sku=sku))))

    assert advised("h100-sxm5-80gb")
    assert not advised(A100)


def test_fp16_is_advised_where_bf16_is_emulated() -> None:
    run = job(
        "gpt2-124m",
        data__seq_len=1024,
        hardware__sku="v100-sxm2-32gb",
        hardware__count=8,
        training__precision="bf16",
    )
    assert "precision fp16" in [row["change"] for row in advice_of(bones(run))]


def test_a_run_that_does_not_fit_gets_a_shortfall_instead() -> None:
    assert advice_of(bones(fine_tune())) == []
