"""Loss and stop point of a planned run: the law that describes it, and what stopping frees."""

from __future__ import annotations

import pytest

from planner.planning.plan import plan
from planner.planning.quality import validation_steps
from planner.scaling.allocation import optimum
from planner.scaling.marginal import THRESHOLD, marginal_gain
from planner.scaling.stopping import StopOptions
from tests.planning.jobs import job

LONG = job()  # 8 B on 1 T tokens: 125 a parameter
SHORT = job(data__tokens=10**10)


def test_there_is_one_threshold() -> None:
    stop = plan(LONG).stop
    assert stop is not None
    assert stop["threshold"] == THRESHOLD == StopOptions().threshold == 0.015


def test_the_stop_point_is_that_of_the_scaling_command() -> None:
    made = plan(LONG)
    found = marginal_gain(params=float(made.model.params_active), tokens=float(made.run.tokens))
    assert made.stop is not None
    assert made.stop["tokens"] == pytest.approx(found.stop_tokens)
    assert made.stop["last_doubling_gain"] == pytest.approx(found.last_doubling)
    assert made.stop["next_doubling_gain"] == pytest.approx(found.next_doubling)


def test_the_optimum_is_that_of_the_runs_compute() -> None:
    made = plan(LONG)
    best = optimum(flops=6.0 * made.model.params_active * made.run.tokens)
    assert made.loss.optimum is not None
    assert made.loss.optimum["params"] == pytest.approx(best.params)
    assert made.loss.optimum["loss"] == pytest.approx(best.loss)


def test_a_run_past_its_stop_point_says_what_stopping_frees() -> None:
    made = plan(LONG)
    stop = made.stop
    assert stop is not None
    assert stop["within_run"]
    spent = made.run.device_hours - stop["freed"]["device_hours"]
    assert spent / made.run.device_hours == pytest.approx(stop["tokens"] / made.run.tokens)
    assert made.cost.usd is not None
    assert stop["freed"]["usd"] == pytest.approx(
        made.cost.usd * stop["freed"]["device_hours"] / made.run.device_hours
    )
    assert any("the whole compute serves" in use for use in stop["freed"]["use"])
    assert stop["step"] in stop["next_validation"]


def test_a_run_that_ends_before_its_stop_point_frees_nothing() -> None:
    stop = plan(SHORT).stop
    assert stop is not None
    assert not stop["within_run"]
    assert (stop["step"], stop["seconds"], stop["freed"]["device_hours"]) == (None, None, 0.0)
    assert stop["freed"]["use"] == []
    assert stop["next_doubling_gain"] > THRESHOLD


def test_gains_are_told_for_hours_and_dollars_too() -> None:
    stop = plan(SHORT).stop
    assert stop is not None
    assert 0 < stop["gain_per_usd"] < stop["gain_per_hour"] < 1


def test_validation_points_are_two_a_doubling_and_end_with_the_run() -> None:
    points = validation_steps(16_000, 2.0)
    assert points[-1] == 16_000
    assert points[-3] == 8_000
    assert len(points) == 9


def test_a_mixture_of_experts_is_forecast_by_a_law_of_experts() -> None:
    loss = plan(job("mixtral-8x7b", training__layout="auto", training__stack="megatron")).loss
    assert loss.law == "joint-moe2025"
    assert loss.conditions == {"experts": pytest.approx(4.0)}
    assert loss.low is not None
    assert loss.value is not None
    assert loss.high is not None
    assert loss.low < loss.value < loss.high


def test_repeated_data_moves_the_optimum_with_the_forecast() -> None:
    loss = plan(job(data__unique_tokens=10**10)).loss
    assert loss.law == "muennighoff2023"
    assert loss.optimum is not None
    assert loss.value is not None
    assert loss.optimum["loss"] <= loss.value


def test_a_run_beyond_its_law_is_warned_about_with_what_that_does() -> None:
    made = plan(LONG)
    assert made.loss.beyond_fit is not None
    (said,) = [text for text in made.warnings if text.startswith("loss: outside the range")]
    assert "compute 4.82e+22 FLOP" in said
    assert "widens its 80 % interval" in said
    assert made.loss.beyond_fit["says"] in said
    assert [part["quantity"] for part in made.loss.beyond_fit["outside"]] == ["tokens", "flops"]


def test_a_run_within_its_law_is_not_warned_about() -> None:
    made = plan(SHORT)
    assert made.loss.beyond_fit is None
    assert not any("range of the fit" in text for text in made.warnings)


def test_the_expected_curve_falls_and_ends_at_the_forecast() -> None:
    made = plan(LONG)
    assert made.stop is not None
    curve = made.stop["curve"]
    assert [row["step"] for row in curve] == made.stop["next_validation"]
    losses = [row["loss"] for row in curve]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == pytest.approx(made.loss.value)
    assert curve[-1]["last_doubling_gain"] == pytest.approx(made.stop["last_doubling_gain"])


def test_an_evaluation_costs_a_forward_pass_over_its_tokens() -> None:
    made = plan(LONG)
    assert made.stop is not None
    assert made.cost.usd is not None
    cost = made.stop["validation_cost"]
    forward = cost["tokens_each"] / made.throughput.tokens_per_second / 3
    assert cost["seconds_each"] == pytest.approx(forward, rel=1e-3)
    share = cost["seconds"] / made.run.seconds
    assert cost["usd"] == pytest.approx(share * made.cost.usd)
    assert cost["seconds"] == pytest.approx(10 * cost["seconds_each"])
