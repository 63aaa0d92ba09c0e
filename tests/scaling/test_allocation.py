"""Splits of a budget: published optima, minima that are minima, bands, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.scaling.allocation import (
    at_fixed_params,
    at_fixed_tokens,
    flops_for_loss,
    optimum,
)
from planner.scaling.forms import FloatArray
from planner.scaling.frontier import frontier, size_curve
from planner.scaling.laws import law, law_names
from planner.scaling.marginal import marginal_gain
from planner.scaling.minimum import minimise
from planner.scaling.serving import served_optimum, tokens_for_loss
from planner.scaling.throughput import bought

LOSS_LAWS = [
    name for name in law_names() if not {"experts", "granularity"} & {*law(name).conditions}
]
GOPHER = 5.76e23  # FLOP


@pytest.mark.parametrize(
    ("name", "ratio"),
    [("besiroglu2024", 18.39), ("hoffmann2022-a3", 58.93), ("hoffmann2022-a3-rounded", 92.65)],
)
def test_tokens_per_parameter_at_gophers_budget(name: str, ratio: float) -> None:
    assert optimum(flops=GOPHER, law=name).tokens_per_param == pytest.approx(ratio, rel=1e-3)


def test_approach_one_gives_its_own_table() -> None:
    best = optimum(flops=6 * 67e9 * 1.5e12, law="hoffmann2022-a1")
    assert best.params == pytest.approx(67e9, rel=1e-6)
    assert best.loss is None


@pytest.mark.parametrize("flops", [1e18, 1e21, 1e25])
def test_the_search_finds_the_closed_form(flops: float) -> None:
    c = law("besiroglu2024").constants
    both = c["alpha"] + c["beta"]
    ratio = (c["alpha"] * c["A"] / (c["beta"] * c["B"])) ** (1 / both)
    closed = ratio * (flops / 6) ** (c["beta"] / both)
    assert optimum(flops=flops).params == pytest.approx(closed, rel=1e-6)


@pytest.mark.parametrize("name", LOSS_LAWS)
@given(
    exponent=st.floats(min_value=18, max_value=25), factor=st.floats(min_value=0.05, max_value=20)
)
def test_no_other_size_does_better_with_the_same_compute(
    name: str, exponent: float, factor: float
) -> None:
    flops = 10**exponent
    best = optimum(flops=flops, law=name)
    other = best.params * factor
    assert best.loss is not None
    assert float(law(name).loss(other, flops / 6 / other)) >= best.loss * (1 - 1e-9)


def test_a_mixture_of_experts_wants_a_smaller_active_model_on_more_data() -> None:
    sizes = [
        optimum(flops=1e21, law="joint-moe2025", conditions={"experts": e}).params
        for e in (1, 4, 16)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == pytest.approx(5.7e9, rel=0.01)  # arXiv:2502.05172, table 4


def test_scarce_data_favours_repeats_up_to_the_papers_nine_and_a_half_epochs() -> None:
    best = optimum(flops=1e22, conditions={"unique_tokens": 25e9})
    assert best.law == "muennighoff2023"
    assert best.tokens / 25e9 == pytest.approx(9.493, rel=0.002)


def test_the_flat_band_and_the_intervals_contain_the_optimum() -> None:
    best = optimum(flops=1e22)
    assert best.band_low < best.params < best.band_high  # type: ignore[operator]
    assert best.params_low < best.params < best.params_high  # type: ignore[operator]
    assert best.tokens_low < best.tokens < best.tokens_high  # type: ignore[operator]
    edge = float(law("besiroglu2024").loss(best.band_high, 1e22 / 6 / best.band_high))  # type: ignore[operator]
    assert edge == pytest.approx(best.loss * 1.005, rel=1e-3)  # type: ignore[operator]


def test_throughput_that_falls_with_size_moves_the_optimum_to_smaller_models() -> None:
    def bought(sizes: FloatArray) -> FloatArray:
        return 1e22 / (1 + sizes / 5e9)

    best = optimum(flops_at=bought)
    assert best.params < optimum(flops=1e22).params
    assert best.flops == pytest.approx(float(bought(np.array(best.params))))


def test_sizes_that_do_not_fit_are_never_chosen() -> None:
    best = optimum(flops_at=lambda sizes: np.where(sizes < 3e9, 1e22, 0.0))
    assert best.params < 3e9
    curve = size_curve(flops_at=lambda sizes: np.where(sizes < 3e9, 1e22, np.nan))
    assert all(point.params < 3e9 for point in curve)


def test_a_table_of_throughputs_stands_in_for_a_function() -> None:
    sizes = [1e9, 2e9, 4e9, 8e9, 16e9]
    buy = bought(sizes, [4e14, 4.5e14, 5e14, 4e14, None], budget=30 * 86_400.0)
    best = optimum(flops_at=buy, bounds=(1e9, 16e9))
    assert 1e9 < best.params <= 8e9
    assert best.flops == pytest.approx(float(buy(np.array(best.params))))
    grid = np.geomspace(1e9, 8e9, 2001)
    losses = law("besiroglu2024").loss(grid, buy(grid) / 6 / grid)
    assert best.loss == pytest.approx(losses.min(), rel=1e-6)
    with pytest.raises(PlannerError, match="two sizes"):
        bought([1e9, 2e9], [4e14, None], budget=1.0)


def test_a_budget_that_buys_nothing_is_refused() -> None:
    with pytest.raises(PlannerError, match="budget"):
        optimum(flops_at=np.zeros_like)
    with pytest.raises(PlannerError, match="flops"):
        optimum(flops=0.0)
    with pytest.raises(PlannerError, match="flops"):
        optimum()


def test_fixed_model_and_fixed_data_spend_the_budget() -> None:
    assert at_fixed_params(params=7e9, flops=4.2e22) == pytest.approx(1e12)
    assert at_fixed_tokens(tokens=1e12, flops=4.2e22) == pytest.approx(7e9)


def test_the_compute_for_a_loss_is_the_compute_that_reaches_it() -> None:
    best = optimum(flops=3e21)
    assert best.loss is not None
    assert flops_for_loss(loss=best.loss) == pytest.approx(3e21, rel=1e-6)
    with pytest.raises(PlannerError, match="loss"):
        flops_for_loss(loss=1.8)


@pytest.mark.parametrize(
    ("size", "served", "params", "ratio", "saving"),
    [
        (30e9, 1e13, 13.6e9, 2.84, 0.28),
        (70e9, 1e13, 41.55e9, 1.859, 0.12),
    ],
)
def test_serving_reproduces_the_papers_examples(
    size: float, served: float, params: float, ratio: float, saving: float
) -> None:
    known = law("sardana2023")
    c = known.constants
    tokens = (c["beta"] * c["B"] / (c["alpha"] * c["A"]) * size ** c["alpha"]) ** (1 / c["beta"])
    loss = float(known.loss(size, tokens))
    found = served_optimum(loss=loss, inference_tokens=served, law=known)
    assert found.plain_params == pytest.approx(size, rel=1e-4)
    assert found.params == pytest.approx(params, rel=0.01)
    assert found.tokens / found.plain_tokens == pytest.approx(ratio, rel=0.01)
    assert found.saving == pytest.approx(saving, abs=0.003)
    assert float(known.loss(found.params, found.tokens)) == pytest.approx(loss, rel=1e-9)


def test_no_model_reaches_a_loss_below_the_irreducible_one() -> None:
    with pytest.raises(PlannerError, match="loss"):
        served_optimum(loss=1.8, inference_tokens=1e12)
    assert tokens_for_loss(law("besiroglu2024"), np.array([1e6]), 2.0)[0] == np.inf


@pytest.mark.parametrize(("params", "ratio"), [(1e9, 190), (7e9, 34), (70e9, 4)])
def test_one_and_a_half_percent_of_the_next_doubling_stops_at_the_known_ratios(
    params: float, ratio: float
) -> None:
    stop = marginal_gain(params=params, tokens=20 * params)
    assert stop.stop_tokens / params == pytest.approx(ratio, rel=0.02)
    assert stop.stop_tokens_seen == pytest.approx(2 * stop.stop_tokens)


def test_the_gain_at_the_stop_is_the_threshold() -> None:
    stop = marginal_gain(params=3e9, tokens=1e11, threshold=0.01).stop_tokens
    assert marginal_gain(params=3e9, tokens=stop).next_doubling == pytest.approx(0.01, rel=1e-6)
    with pytest.raises(PlannerError, match="threshold"):
        marginal_gain(params=3e9, tokens=1e11, threshold=1.5)


def test_the_frontier_falls_and_its_gains_shrink() -> None:
    points = frontier(flops=np.geomspace(1e19, 1e24, 6))
    losses = [point.loss for point in points]
    gains = [point.gain_next_doubling for point in points]
    assert losses == sorted(losses, reverse=True)
    assert gains == sorted(gains, reverse=True)


@given(centre=st.floats(min_value=-20, max_value=20))
def test_minimise_finds_the_minimum_of_a_parabola_of_the_log(centre: float) -> None:
    found, _ = minimise(lambda x: (np.log(x) - centre) ** 2, low=1e-12, high=1e12)
    assert np.log(found) == pytest.approx(centre, abs=1e-6)


@pytest.mark.parametrize("flops", [1e9, 1e12])
def test_a_budget_that_buys_less_than_guessing_is_refused(flops: float) -> None:
    with pytest.raises(PlannerError, match="no run worth the name"):
        optimum(flops=flops)
    assert optimum(flops=1e16).loss is not None
