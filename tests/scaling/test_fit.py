"""Fits: the reference constants, recovery of what was planted, refusals that say what to add."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from planner.errors import PlannerError
from planner.scaling.bootstrap import FittedLaw, bootstrap
from planner.scaling.fit import Fit, fit_runs
from planner.scaling.forecast import predict_loss
from planner.scaling.holdout import compare_forms
from planner.scaling.laws import law
from planner.scaling.outliers import outliers
from planner.scaling.runs import Runs, read_runs

PLANTED = {"E": 1.9, "A": 300.0, "alpha": 0.32, "B": 1500.0, "beta": 0.36}


@pytest.fixture(scope="module")
def epoch(shared: Path) -> Runs:
    """The runs that Epoch read off Chinchilla's figure, all 245."""
    path = shared / "data" / "scaling" / "epoch_chinchilla_svg_extracted.csv"
    return read_runs(path.read_text().splitlines())


@pytest.fixture(scope="module")
def reference(epoch: Runs) -> Fit:
    return fit_runs(epoch.without_largest_losses(5))


def planted(*, noise: float = 0.0, seed: int = 0, k: float = 1.0) -> Runs:
    """Runs of five sizes and five ratios under a known law."""
    sizes, ratios = np.meshgrid(np.geomspace(5e7, 2e9, 5), np.array([5, 10, 20, 60, 200.0]))
    params, tokens = sizes.ravel(), (sizes * ratios).ravel()
    p = PLANTED
    losses = p["E"] + (p["A"] * params ** -p["alpha"] + p["B"] * tokens ** -p["beta"]) ** k
    scatter = np.random.default_rng(seed).normal(0, noise, len(params))
    return Runs(params=params, tokens=tokens, losses=losses * np.exp(scatter))


def test_epochs_data_give_the_reference_constants(reference: Fit) -> None:
    assert reference.constants["E"] == pytest.approx(1.8172, abs=0.0005)
    assert reference.constants["A"] == pytest.approx(477.8, abs=0.5)
    assert reference.constants["alpha"] == pytest.approx(0.3473, abs=0.0003)
    assert reference.constants["B"] == pytest.approx(2143.4, abs=3)
    assert reference.constants["beta"] == pytest.approx(0.3672, abs=0.0003)
    assert reference.objective == pytest.approx(1.01827e-3, rel=1e-4)


def test_the_five_outliers_change_b_sixfold_and_are_reported(epoch: Runs) -> None:
    fit = fit_runs(epoch)
    assert fit.constants["B"] == pytest.approx(12_846, rel=0.01)
    found = outliers(fit)
    assert 3 <= len(found) <= 8
    assert found[0].loss > 4.5
    assert found[0].deviations > 30


def test_a_fit_takes_less_than_five_seconds_and_200_resamples_less_than_thirty(
    epoch: Runs,
) -> None:
    runs = epoch.without_largest_losses(5)
    started = time.monotonic()
    fit = fit_runs(runs)
    fitted = time.monotonic()
    bootstrap(fit, count=200)
    assert fitted - started < 5
    assert time.monotonic() - fitted < 30


def test_a_planted_law_is_recovered() -> None:
    constants = fit_runs(planted()).constants
    for name, value in PLANTED.items():
        assert constants[name] == pytest.approx(value, rel=1e-4)


def test_a_planted_power_of_a_sum_is_recovered_and_holds_out_better() -> None:
    runs = planted(k=0.5)
    fit = fit_runs(runs, form="power-of-sum")
    np.testing.assert_allclose(fit.predict(runs.params, runs.tokens), runs.losses, rtol=1e-6)
    forms = compare_forms(runs)
    assert forms[0].form == "power-of-sum"
    assert forms[0].error is not None
    assert forms[1].error is not None
    assert forms[0].error < forms[1].error


def test_the_order_of_the_runs_does_not_matter() -> None:
    runs = planted(noise=0.005)
    shuffled = runs.take(np.random.default_rng(1).permutation(len(runs)))
    assert fit_runs(shuffled).constants == pytest.approx(fit_runs(runs).constants, rel=1e-5)


def test_wild_losses_move_a_robust_fit_little() -> None:
    runs = planted(noise=0.002)
    wild = runs.losses.copy()
    wild[[3, 17]] *= 1.5
    fit = fit_runs(Runs(params=runs.params, tokens=runs.tokens, losses=wild))
    at = np.array([4e9]), np.array([8e10])
    expected = fit_runs(runs).predict(*at)
    assert fit.predict(*at) == pytest.approx(expected, rel=0.01)
    assert {outlier.position for outlier in outliers(fit)} >= {3, 17}


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (lambda runs: runs.params < 6e7, "three sizes"),
        (lambda runs: np.isclose(runs.tokens / runs.params, 20), "several token counts"),
        (lambda runs: np.arange(len(runs)) % 6 == 0, "at least 6 runs"),
    ],
)
def test_runs_that_cannot_identify_a_law_are_refused_with_the_run_to_add(
    chosen: object, words: str
) -> None:
    runs = planted()
    with pytest.raises(PlannerError, match=words) as refusal:
        fit_runs(runs.take(chosen(runs)))  # type: ignore[operator]
    assert "parameters on" in str(refusal.value)


def test_runs_without_a_trend_or_with_the_wrong_one_are_refused() -> None:
    runs = planted()
    same = Runs(params=runs.params, tokens=runs.tokens, losses=np.full(len(runs), 3.0))
    rising = Runs(params=runs.params, tokens=runs.tokens, losses=6 - runs.losses)
    with pytest.raises(PlannerError, match="same loss"):
        fit_runs(same)
    with pytest.raises(PlannerError, match="rises with compute"):
        fit_runs(rising)


def test_a_fit_with_hardly_more_runs_than_constants_names_no_outliers() -> None:
    assert outliers(fit_runs(planted(noise=0.01).take(np.arange(0, 25, 4)))) == []


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(PlannerError, match="power-of-sum"):
        fit_runs(planted(), form="power")


@pytest.fixture(scope="module")
def fitted() -> FittedLaw:
    return bootstrap(fit_runs(planted(noise=0.004)), count=60)


def test_the_bootstrap_brackets_its_own_fit(fitted: FittedLaw) -> None:
    intervals = fitted.constant_intervals()
    for name, value in fitted.fit.constants.items():
        assert intervals[name][0] <= value * 1.02
        assert value <= intervals[name][1] * 1.02


def test_the_bootstrap_repeats_with_its_seed(fitted: FittedLaw) -> None:
    again = bootstrap(fitted.fit, count=60)
    np.testing.assert_array_equal(again.thetas, fitted.thetas)


def test_a_forecast_is_less_sure_further_away(fitted: FittedLaw) -> None:
    forecast = fitted.forecast(np.array([2e9, 1e12]), np.array([4e10, 2e13]))
    widths = np.log(forecast.high / forecast.low)
    assert widths[1] > widths[0]
    assert (forecast.low <= forecast.value).all()
    assert (forecast.value <= forecast.high).all()


def test_a_fitted_law_forecasts_with_a_narrower_interval_than_a_foreign_one(
    fitted: FittedLaw,
) -> None:
    own = predict_loss(params=2e9, tokens=4e10, law=fitted.as_law())
    foreign = predict_loss(params=2e9, tokens=4e10)
    assert own.high - own.low < 0.3 * (foreign.high - foreign.low)  # type: ignore[operator]
    truth = PLANTED["E"] + PLANTED["A"] * 2e9**-0.32 + PLANTED["B"] * 4e10**-0.36
    assert own.low < truth < own.high  # type: ignore[operator]


def test_intervals_of_new_runs_hold_about_four_fifths_of_them() -> None:
    held = []
    for seed in range(12):
        runs = planted(noise=0.006, seed=seed)
        new = planted(noise=0.006, seed=1000 + seed)
        forecast = bootstrap(fit_runs(runs), count=40).forecast(new.params, new.tokens)
        held.append((forecast.low <= new.losses) & (new.losses <= forecast.high))
    assert 0.7 < np.mean(held) < 0.9


def test_the_shipped_draws_come_from_this_fit(reference: Fit) -> None:
    draws = law("besiroglu2024").draws
    assert draws is not None
    low, high = np.quantile(draws["alpha"], (0.1, 0.9))
    assert low < reference.constants["alpha"] < high
