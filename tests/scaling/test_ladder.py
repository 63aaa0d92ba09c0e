"""Ladders: within budget, fit to identify a law, and as sharp as they say."""

from __future__ import annotations

import numpy as np
import pytest

from planner.errors import PlannerError
from planner.scaling.fit import fit_runs
from planner.scaling.identify import require_identifiable
from planner.scaling.ladder import Ladder, design_ladder, forecast_deviation
from planner.scaling.laws import law
from planner.scaling.runs import Runs
from planner.scaling.widths import normal_quantile, run_noise

TARGET = {"params": 7e9, "tokens": 140e9}


def runs_of(plan: Ladder, losses: np.ndarray | None = None) -> Runs:
    params = np.concatenate([[run.params] * run.seeds for run in plan.runs])
    tokens = np.concatenate([[run.tokens] * run.seeds for run in plan.runs])
    return Runs(
        params=params, tokens=tokens, losses=np.ones(len(params)) if losses is None else losses
    )


@pytest.mark.parametrize("flops", [3e19, 1e20, 1e21])
def test_a_ladder_spends_at_most_its_budget_and_can_identify_a_law(flops: float) -> None:
    plan = design_ladder(flops=flops, **TARGET)
    assert 0.5 * flops < plan.flops <= flops
    require_identifiable(runs_of(plan), num_constants=5)
    assert all(run.params < TARGET["params"] for run in plan.runs)


def test_more_compute_gives_a_sharper_forecast() -> None:
    widths = [
        (plan := design_ladder(flops=flops, **TARGET)).high - plan.low
        for flops in (3e19, 3e20, 3e21)
    ]
    assert widths == sorted(widths, reverse=True)


def test_the_design_is_no_worse_than_equal_runs_at_twenty_tokens_and_neighbours() -> None:
    plan = design_ladder(flops=1e21, **TARGET)
    sizes, ratios = np.meshgrid([1.0, 2, 4, 8], [10.0, 20, 40])
    params, ratio = sizes.ravel(), ratios.ravel()
    params = params * np.sqrt(1e21 / np.sum(6 * params**2 * ratio))
    usual = Runs(params=params, tokens=params * ratio, losses=np.ones(len(params)))
    designed = np.log(plan.high / plan.loss) / normal_quantile(0.8)
    assert designed <= forecast_deviation(usual, **TARGET)


def test_fits_to_simulated_ladders_err_no_more_than_announced() -> None:
    plan = design_ladder(flops=1e21, **TARGET)
    truth = law("besiroglu2024")
    bare = runs_of(plan)
    at = np.array([TARGET["params"]]), np.array([TARGET["tokens"]])
    errors = []
    for seed in range(30):
        scatter = np.random.default_rng(seed).normal(0, run_noise(), len(bare))
        losses = truth.loss(bare.params, bare.tokens) * np.exp(scatter)
        fit = fit_runs(runs_of(plan, losses))
        errors.append(float(np.log(fit.predict(*at)[0] / truth.loss(*at)[0])))
    announced = np.log(plan.high / plan.loss)  # 80 %, drift and noise of the target included
    assert np.quantile(np.abs(errors), 0.8) < 1.5 * announced


@pytest.mark.parametrize("flops", [1e10, 1e23])
def test_a_budget_too_small_or_larger_than_the_target_is_refused(flops: float) -> None:
    with pytest.raises(PlannerError, match="flops"):
        design_ladder(flops=flops, **TARGET)


def test_a_target_too_small_for_a_ladder_is_refused() -> None:
    with pytest.raises(PlannerError, match="params"):
        design_ladder(flops=1e15, params=1e7, tokens=1e10)


def test_a_law_of_another_form_is_refused() -> None:
    with pytest.raises(PlannerError, match="law"):
        design_ladder(flops=1e20, law="kaplan2020", **TARGET)
