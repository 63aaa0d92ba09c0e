"""Loss curves follow their schedule; forecasts know how unsure they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.scaling.curves import (
    CurveForecast,
    Schedule,
    forecast_curve,
    named_schedule,
    schedule_of,
)
from planner.scaling.curves.annealing import losses, published_prior
from planner.scaling.logs import Series, read_log

KINDS = ("cosine", "linear", "wsd", "constant")


def multipower(shared: Path, name: str) -> tuple[Series, Schedule]:
    log = read_log(shared / "data/scaling/multipower" / f"{name}.csv")
    loss = log.metrics["loss"]
    end = float(loss.steps[-1])
    known = schedule_of(log.learning_rate, last_step=end, total_steps=end)
    assert known is not None
    return loss, known.schedule


def forecast_of(shared: Path, name: str, fraction: float) -> tuple[CurveForecast, float]:
    loss, schedule = multipower(shared, name)
    seen = loss.steps <= fraction * loss.steps[-1]
    prior = published_prior(without=name.split("_")[0])
    found = forecast_curve(loss.steps[seen], loss.values[seen], schedule, prior=prior)
    assert found is not None
    return found, float(loss.values[-1])


CURVES = [
    *(
        f"{size}_{kind}_24000"
        for size in ("25M", "100M", "400M")
        for kind in ("cosine", "constant")
    ),
    *(f"{size}_{kind}_72000" for size in ("25M", "100M") for kind in ("cosine", "constant")),
    *(f"{size}_{kind}_20000_24000" for size in ("25M", "100M") for kind in ("wsd", "wsdld")),
    *(f"{size}_wsdcon_{rate}" for size in ("25M", "100M") for rate in (3, 9, 18)),
    "400M_wsdcon_9",
]


def errors(shared: Path, fraction: float) -> list[float]:
    pairs = [forecast_of(shared, name, fraction) for name in CURVES]
    return [abs(found.final_loss / final - 1.0) for found, final in pairs]


def test_the_first_half_tells_the_final_loss(shared: Path) -> None:
    found = errors(shared, 0.5)
    assert len(found) == 21
    assert np.median(found) < 0.007
    assert max(found) < 0.02


def test_a_third_of_a_run_tells_the_final_loss_to_a_per_cent(shared: Path) -> None:
    assert np.median(errors(shared, 0.3)) < 0.01


def test_intervals_hold_the_final_loss_and_narrow_with_the_run(shared: Path) -> None:
    pairs = [forecast_of(shared, name, 0.5) for name in CURVES]
    assert np.mean([f.final_low <= final <= f.final_high for f, final in pairs]) >= 0.75
    early, late = (forecast_of(shared, "100M_wsd_20000_24000", f)[0] for f in (0.3, 0.95))
    assert late.final_high - late.final_low < early.final_high - early.final_low


def test_a_decay_that_is_still_unseen_is_foreseen(shared: Path) -> None:
    found, final = forecast_of(shared, "400M_cosine_24000", 0.5)
    loss, schedule = multipower(shared, "400M_cosine_24000")
    seen = loss.steps <= 12000
    blind = forecast_curve(
        loss.steps[seen],
        loss.values[seen],
        named_schedule("constant", schedule.total_steps),
        schedule_aware=False,
    )
    assert blind is not None
    assert abs(found.final_loss - final) < abs(blind.final_loss - final)


def test_a_decay_now_gives_less_loss_than_going_on_as_long(shared: Path) -> None:
    found, _ = forecast_of(shared, "100M_constant_72000", 0.5)
    assert found.decay_now_steps is not None
    assert found.decay_now_loss is not None
    at = found.last_step + found.decay_now_steps
    assert found.decay_now_loss < float(np.interp(at, found.steps, found.middle))


def test_too_few_points_give_no_forecast() -> None:
    schedule = named_schedule("cosine", 1000)
    assert forecast_curve(np.array([100.0, 200.0]), np.array([3.0, 2.9]), schedule) is None


def test_points_that_follow_no_curve_give_no_forecast() -> None:
    steps = np.linspace(10, 1000, 60)
    values = np.where(np.arange(60) % 2, 3.0, 5.0)
    assert forecast_curve(steps, values, named_schedule("cosine", 2000)) is None


@pytest.mark.parametrize("decades", [7, 100, 300])
def test_losses_over_many_decades_give_no_forecast(decades: int) -> None:
    steps = np.arange(1.0, 1000.0, 5.0)
    observed = 10.0 ** (decades * (0.5 - steps / 1000.0))
    assert forecast_curve(steps, observed, named_schedule("constant", 2000)) is None
    assert forecast_curve(steps, observed[::-1], named_schedule("constant", 2000)) is None


def test_a_curve_of_the_law_is_recovered() -> None:
    schedule = named_schedule("wsd", 20000, warmup_steps=500, decay_share=0.2)
    constants = published_prior().mean
    steps = np.arange(600.0, 20001.0, 100.0)
    values = 3.0 * losses(constants, schedule, steps)
    seen = steps <= 10000
    found = forecast_curve(steps[seen], values[seen], schedule)
    assert found is not None
    assert found.final_loss == pytest.approx(values[-1], rel=2e-3)


@given(st.sampled_from(KINDS), st.integers(100, 10**6), st.floats(0, 0.3), st.floats(0, 1))
def test_named_schedules_warm_up_and_end_where_told(
    kind: str, total: int, warm: float, final: float
) -> None:
    schedule = named_schedule(kind, total, warmup_steps=warm * total, final_ratio=final)
    assert schedule.rate(warm * total).item() == pytest.approx(1.0)
    assert schedule.rate(total).item() == pytest.approx(1.0 if kind == "constant" else final)
    assert schedule.area(np.array([total])).item() <= total * (1 + 1e-9)


@given(st.sampled_from(KINDS), st.floats(0.35, 0.95), st.floats(0.0, 0.5))
def test_a_decay_that_began_is_followed_to_its_end(kind: str, seen: float, final: float) -> None:
    total = 10_000.0
    whole = named_schedule(kind, total, warmup_steps=200, final_ratio=final, decay_share=0.9)
    steps = np.linspace(1, seen * total, 300)
    rates = Series(
        name="lr", steps=steps, values=3e-4 * whole.rate(steps), weights=steps, num_points=300
    )
    known = schedule_of(rates, last_step=steps[-1], total_steps=total)
    assert known is not None
    later = np.linspace(seen * total, total, 50)
    np.testing.assert_allclose(known.schedule.rate(later), whole.rate(later), atol=0.06)


def test_an_unseen_decay_is_assumed_only_when_told() -> None:
    steps = np.linspace(1, 5000, 100)
    rates = Series(name="lr", steps=steps, values=np.full(100, 1e-3), weights=steps, num_points=100)
    silent = schedule_of(rates, last_step=5000, total_steps=10_000)
    told = schedule_of(rates, last_step=5000, total_steps=10_000, kind="wsd")
    assert silent is not None
    assert told is not None
    assert silent.schedule.rate(10_000).item() == pytest.approx(1.0)
    assert any("stays constant" in text for text in silent.assumptions)
    assert told.schedule.rate(10_000).item() == pytest.approx(0.0)


def test_nobody_tells_the_schedule_then_it_is_unknown() -> None:
    assert schedule_of(None, last_step=100, total_steps=1000) is None
    assert schedule_of(None, last_step=100, total_steps=None, kind="cosine") is None


@pytest.mark.parametrize(
    ("kind", "total", "options", "field"),
    [
        ("cosin", 100, {}, "schedule"),
        ("cosine", 0, {}, "total-steps"),
        ("cosine", 100, {"warmup_steps": 200}, "total-steps"),
        ("cosine", 100, {"final_ratio": 2.0}, "final-ratio"),
    ],
)
def test_impossible_schedules_are_refused(
    kind: str, total: float, options: dict[str, float], field: str
) -> None:
    with pytest.raises(PlannerError) as refusal:
        named_schedule(kind, total, **options)
    assert refusal.value.field == field


def test_rates_that_are_all_zero_tell_no_schedule() -> None:
    steps = np.arange(1.0, 10.0)
    rates = Series(name="lr", steps=steps, values=np.zeros(9), weights=steps, num_points=9)
    assert schedule_of(rates, last_step=9, total_steps=100) is None


def test_a_plan_shorter_than_the_log_is_refused() -> None:
    with pytest.raises(PlannerError, match="already reaches"):
        schedule_of(None, last_step=500, total_steps=100, kind="cosine")
