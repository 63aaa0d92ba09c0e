"""The stop rule gives the right verdict on curves whose fate is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from planner.errors import PlannerError
from planner.scaling.logs import Series, TrainingLog
from planner.scaling.stopping import StopOptions, StopReport, stop_report
from planner.scaling.stopping.advice import stopping_advice
from planner.scaling.stopping.answer import stop_answer
from planner.scaling.stopping.metric import choose_metric, metric_named

Floats = NDArray[np.float64]
STEPS = np.arange(100.0, 10_001.0, 100.0)


def series(name: str, values: Floats, steps: Floats = STEPS) -> Series:
    finite = np.isfinite(values)
    trailing = 0 if finite[-1] else int(np.argmax(finite[::-1])) if finite.any() else len(values)
    return Series(
        name=name,
        steps=steps[finite],
        values=values[finite],
        weights=np.ones(int(finite.sum())),
        num_points=int(finite.sum()),
        num_nonfinite=int((~finite).sum()),
        trailing_nonfinite=trailing,
    )


def log_of(*metrics: Series, seconds_per_step: float | None = None, **told: float) -> TrainingLog:
    clocks = {}
    if seconds_per_step is not None:
        clocks[""] = series("seconds", metrics[0].steps * seconds_per_step, metrics[0].steps)
    return TrainingLog(
        format="csv",
        axis="step",
        metrics={metric.name: metric for metric in metrics},
        clocks=clocks,
        learning_rate=None,
        tokens=None,
        total_steps=told.get("total_steps"),
        bytes_read=0,
    )


def healthy(steps: Floats = STEPS, *, noise: float = 0.0, seed: int = 0) -> Floats:
    spread = np.random.default_rng(seed).normal(0.0, noise, len(steps))
    return np.asarray(2.0 + 4.0 * (steps / 100.0) ** -0.3 + spread)


def report_on(*metrics: Series, **options: object) -> StopReport:
    pace = options.pop("pace", None)
    return stop_report(log_of(*metrics, seconds_per_step=pace), StopOptions(**options))  # type: ignore[arg-type]


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.002, 0.01]))
def test_a_healthy_curve_goes_on(seed: int, noise: float) -> None:
    assert report_on(series("val_loss", healthy(noise=noise, seed=seed))).verdict == "continue"


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from([0.001, 0.01]))
def test_a_plateau_has_stopped_learning(seed: int, noise: float) -> None:
    level = np.where(STEPS < 2000, healthy(), healthy()[19])
    spread = np.random.default_rng(seed).normal(0.0, noise, len(STEPS))
    found = report_on(series("val_loss", level + spread))
    assert found.verdict in ("stopped-learning", "stop")
    assert found.judgement.verdicts["per_doubling"] == "stop"


def test_a_flat_curve_has_stopped_learning() -> None:
    spread = np.random.default_rng(1).normal(0.0, 0.001, len(STEPS))
    assert report_on(series("val_loss", 3.0 + spread)).verdict == "stopped-learning"


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.002]))
def test_an_overfitted_run_stops_at_its_best_step(seed: int, noise: float) -> None:
    rise = 0.6 * np.maximum(STEPS - 4000, 0) / 6000
    spread = np.random.default_rng(seed).normal(0.0, noise, len(STEPS))
    train = series("train_loss", healthy())
    found = report_on(series("val_loss", healthy() + rise + spread), train)
    assert found.verdict == "stop"
    assert "overfits" in found.judgement.reason
    assert found.stop_at.step is not None
    assert 3000 <= found.stop_at.step <= 5000


def test_a_loss_of_no_stated_kind_that_turns_up_stops_at_its_best() -> None:
    rise = 0.6 * np.maximum(STEPS - 4000, 0) / 6000
    found = report_on(series("loss", healthy() + rise))
    assert found.verdict == "stop"
    assert found.stop_at.step is not None
    assert 3000 <= found.stop_at.step <= 5000


def test_a_small_fine_tune_stops_after_its_first_epochs() -> None:
    steps = np.arange(1.0, 8.0)
    values = np.array([1.10, 1.02, 1.01, 1.06, 1.15, 1.27, 1.40])
    found = report_on(series("eval_loss", values, steps), task="full-ft", epochs=15)
    assert found.verdict == "stop"
    assert found.stop_at.step == 3
    assert any("stop by validation, expect 1-3 epochs" in text for text in found.advice)
    assert found.outlook.forecast is None
    assert "full-ft" in found.outlook.reason


@pytest.mark.parametrize("name", ["train_loss", "val_loss"])
@pytest.mark.parametrize("after", [8.0, 4.5])
def test_a_jump_that_stays_has_diverged(name: str, after: float) -> None:
    values = np.where(STEPS > 7000, after, healthy())
    found = report_on(series(name, values))
    assert found.verdict == "diverged"
    assert found.stop_at.step is not None
    assert found.stop_at.step <= 7000
    assert any("checkpoint" in text for text in found.advice)


def test_a_training_loss_that_climbs_for_long_has_diverged() -> None:
    values = healthy() + np.maximum(STEPS - 5000, 0) / 2000
    assert report_on(series("train_loss", values)).verdict == "diverged"


def test_a_spike_that_comes_back_is_forgiven() -> None:
    values = healthy()
    values[60:66] = [5.0, 8.0, 6.0, 4.0, 3.5, 3.4]
    assert report_on(series("train_loss", values)).verdict == "continue"


def test_nan_at_the_end_has_diverged() -> None:
    values = np.where(STEPS > 9000, np.nan, healthy())
    assert report_on(series("train_loss", values)).verdict == "diverged"


def test_nan_in_the_training_loss_is_seen_beside_a_good_validation() -> None:
    broken = np.where(STEPS > 9900, np.nan, healthy())
    broken[-3:] = np.nan
    found = report_on(series("val_loss", healthy()), series("train_loss", broken))
    assert found.verdict == "diverged"


def test_nan_that_came_back_is_forgiven() -> None:
    values = healthy()
    values[40:45] = np.nan
    assert report_on(series("train_loss", values)).verdict == "continue"


def test_one_point_is_refused() -> None:
    with pytest.raises(PlannerError, match="one point"):
        report_on(series("val_loss", healthy()[:1], STEPS[:1]))


@pytest.mark.parametrize("number", [2, 4])
def test_few_points_are_too_early(number: int) -> None:
    found = report_on(series("val_loss", healthy()[:number], STEPS[:number]))
    assert found.verdict == "too-early"
    assert stop_answer(found)["forecast"]["final_loss"] is None


def test_two_points_are_said_to_be_too_few_to_forecast() -> None:
    found = report_on(series("val_loss", healthy()[:2], STEPS[:2]), total_steps=1000.0)
    assert any("two points are too few to forecast" in text for text in found.warnings)


def test_noise_that_hides_the_gain_is_no_verdict() -> None:
    steps = np.arange(100.0, 901.0, 100.0)
    values = 3.0 + np.array([0.5, -0.4, 0.3, -0.5, 0.4, -0.3, 0.5, -0.4, 0.3])
    found = report_on(series("val_loss", values, steps))
    assert found.verdict == "too-early"
    assert "noise" in found.judgement.reason


@pytest.mark.parametrize(
    ("name", "direction"), [("val_accuracy", None), ("AUC", None), ("score", "max")]
)
def test_a_metric_that_should_rise_is_judged_by_its_rise(name: str, direction: str | None) -> None:
    rising = 0.9 - 0.6 * (STEPS / 100.0) ** -0.3
    assert report_on(series(name, rising), direction=direction).verdict == "continue"
    settled = 0.8 - 0.3 * np.exp(-STEPS / 400.0)
    assert report_on(series(name, settled), direction=direction).verdict in (
        "stop",
        "stopped-learning",
    )
    falling = np.where(STEPS > 5000, rising - 0.1 * (STEPS - 5000) / 5000, rising)
    held_out = report_on(series(f"val_{name}", falling), direction=direction)
    assert held_out.verdict == "stop"


@pytest.mark.parametrize("name", ["perplexity", "val_ppl", "wer", "eval/cer"])
def test_a_metric_that_should_fall_is_judged_by_its_fall(name: str) -> None:
    assert metric_named(name).sign == 1.0
    assert report_on(series(name, np.exp(healthy()))).verdict == "continue"


def test_a_metric_of_unknown_direction_is_asked_about() -> None:
    with pytest.raises(PlannerError, match="--direction"):
        report_on(series("zorp", healthy()))


def test_an_unknown_metric_is_refused_with_the_nearest() -> None:
    with pytest.raises(PlannerError, match="val_loss"):
        report_on(series("val_loss", healthy()), metric="valloss")


def test_the_rule_fires_at_the_threshold_that_was_asked_for() -> None:
    steps = np.geomspace(100, 1e6, 200)
    slow = series("val_loss", 2.0 + 2.0 * (steps / 100.0) ** -0.3, steps)
    strict, loose = (report_on(slow, threshold=t) for t in (0.005, 0.15))
    assert strict.verdict == "continue"
    assert loose.verdict == "stop"
    assert loose.judgement.doubling.value == strict.judgement.doubling.value


def test_one_evaluation_below_the_threshold_is_not_enough() -> None:
    values = healthy()
    values[-1] = values[-2] + 0.2
    found = report_on(series("train_loss", values))
    assert found.judgement.verdicts["per_doubling"] == "continue"


def test_units_stand_side_by_side_and_the_chosen_one_leads() -> None:
    curve = series("val_loss", healthy())
    options = {"pace": 36.0, "usd_per_hour": 10.0}
    doubling = report_on(curve, **options)
    hourly = report_on(curve, unit="hour", **options)
    verdicts = stop_answer(hourly)["verdicts"]
    assert doubling.verdict == "continue"
    assert hourly.verdict == "stop"
    assert verdicts == {
        "per_doubling": "continue", "per_hour": "stop", "per_usd": "stop", "value": None,
    }  # fmt: skip
    answer = stop_answer(doubling)
    assert answer["gain_per_usd"] == pytest.approx(answer["gain_per_hour"] / 10.0, rel=0.5)
    assert any("units disagree" in text for text in doubling.warnings)


def test_a_longer_unit_of_time_gains_more() -> None:
    curve = series("val_loss", healthy())
    hour, day = (report_on(curve, unit="hour", pace=36.0, unit_hours=h) for h in (1.0, 24.0))
    assert hour.judgement.hour.value is not None
    assert day.judgement.hour.value is not None
    assert day.judgement.hour.value > hour.judgement.hour.value


def test_a_log_without_time_says_so() -> None:
    found = report_on(series("val_loss", healthy()), unit="hour")
    assert found.verdict == "too-early"
    assert "--seconds-per-step" in found.judgement.reason


def test_dollars_need_a_price() -> None:
    with pytest.raises(PlannerError, match="--usd-per-hour"):
        StopOptions(unit="usd")


def test_worth_is_weighed_against_the_next_doubling() -> None:
    curve = series("val_loss", healthy())
    options = {"pace": 36.0, "usd_per_hour": 10.0}
    cheap, dear = (report_on(curve, worth_usd=w, **options) for w in (1.0, 1e6))
    assert cheap.next_doubling_usd == pytest.approx(1000.0)
    assert (cheap.value_verdict, dear.value_verdict) == ("stop", "continue")


def test_the_freed_budget_is_counted_and_put_to_use() -> None:
    flat = np.where(STEPS < 2000, healthy(), healthy()[19])
    spread = np.random.default_rng(1).normal(0.0, 0.001, len(STEPS))
    found = report_on(
        series("val_loss", flat + spread),
        pace=3.6,
        total_steps=30_000.0,
        usd_per_hour=16.0,
        num_devices=8,
        params=124e6,
        tokens_per_step=5e5,
    )
    assert found.freed.hours == pytest.approx(20.0)
    assert found.freed.device_hours == pytest.approx(160.0)
    assert found.freed.usd == pytest.approx(320.0)
    assert any("seed" in use for use in found.freed.use)
    assert any("besiroglu2024" in use for use in found.freed.use)


def test_what_nobody_told_is_unknown_and_not_zero() -> None:
    flat = np.full(len(STEPS), 3.0) + np.random.default_rng(1).normal(0.0, 1e-3, len(STEPS))
    answer = stop_answer(report_on(series("val_loss", flat)))
    assert answer["freed"]["device_hours"] is None
    assert answer["freed"]["usd"] is None
    assert answer["gain_per_hour"] is None
    assert answer["gain_per_usd"] is None


def test_validation_points_are_spread_in_log_compute_and_cost_money() -> None:
    found = report_on(
        series("val_loss", healthy()),
        total_steps=80_000.0,
        pace=1.0,
        usd_per_hour=36.0,
        evaluation_seconds=100.0,
    )
    points = np.array(found.next_validation)
    assert len(points) == 6
    assert points[-1] == 80_000
    assert (np.diff(points) > 0).all()
    ratios = np.diff(np.log(points))
    assert ratios.max() / ratios.min() < 3.0
    assert found.validation_usd == pytest.approx(6.0)


def test_a_finished_schedule_is_told_from_a_stop_in_its_middle() -> None:
    curve = series("val_loss", healthy())
    middle = report_on(curve, schedule="cosine", total_steps=20_000.0)
    assert any("replan the schedule to the shorter horizon" in text for text in middle.advice)
    assert any("mid-cosine" in text for text in middle.advice)
    finished = report_on(curve, schedule="cosine", total_steps=10_000.0)
    assert not any("replan" in text for text in finished.advice)


def test_case_u72_early_stop_is_not_safe_before_the_schedule_ends() -> None:
    fine_tune = stopping_advice(task="full-ft", epochs=15)
    assert "stop by validation, expect 1-3 epochs" in fine_tune[0]
    pretrain = stopping_advice(schedule="cosine", total_steps=600_000, stop_at=300_000)
    assert "replan the schedule to the shorter horizon" in pretrain[0]
    assert "do not report the mid-cosine loss" in pretrain[0]
    assert "as the final loss of the shorter run" in pretrain[0]
    assert stopping_advice(schedule="constant", total_steps=600_000, stop_at=300_000) == ()


def test_the_constant_of_a_fit_is_nowhere_in_the_answer() -> None:
    found = report_on(series("val_loss", healthy()), schedule="cosine", total_steps=20_000.0)
    forecast = found.outlook.forecast
    assert forecast is not None
    offset = float(forecast.curve.constants[0] * forecast.curve.scale)
    numbers: list[float] = []

    def collect(value: object) -> None:
        if isinstance(value, dict):
            for item in value.values():
                collect(item)
        elif isinstance(value, list):
            for item in value:
                collect(item)
        elif isinstance(value, float):
            numbers.append(value)

    collect(stop_answer(found))
    assert numbers
    assert not any(number == pytest.approx(offset, rel=1e-6) for number in numbers)


def test_held_out_loss_is_chosen_before_training_loss() -> None:
    train, held_out = series("train_loss", healthy()), series("val_loss", healthy())
    assert choose_metric({"train_loss": train, "val_loss": held_out}, None, None)[0].name == (
        "val_loss"
    )


def test_few_evaluations_beside_a_dense_training_loss_are_passed_over() -> None:
    train = series("train_loss", healthy())
    held_out = series("val_loss", healthy()[:3], STEPS[:3])
    metric, notes = choose_metric({"train_loss": train, "val_loss": held_out}, None, None)
    assert metric.name == "train_loss"
    assert any("only 3 evaluations" in text for text in notes)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"threshold": 0.0}, "threshold"),
        ({"threshold": 15.0}, "threshold"),
        ({"unit": "minute"}, "unit"),
        ({"schedule": "cosin"}, "schedule"),
        ({"total_steps": -5.0}, "total-steps"),
        ({"usd_per_hour": 0.0}, "usd-per-hour"),
        ({"decay_share": 0.0}, "decay-share"),
        ({"task": "finetune"}, "task"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, object], field: str) -> None:
    with pytest.raises(PlannerError) as refusal:
        StopOptions(**options)  # type: ignore[arg-type]
    assert refusal.value.field == field
