"""Closed forms against the searches that find the same numbers for every law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.scaling.allocation import best_split, loss_at_sizes
from planner.scaling.laws import law, law_names
from planner.scaling.marginal import _first_below, marginal_gain
from planner.scaling.minimum import minimise
from planner.scaling.two_powers import two_powers

CONDITIONS = {"experts": 8.0, "granularity": 4.0, "weight_bits": 8.0}
DEFAULT = two_powers(law("besiroglu2024"), {})
assert DEFAULT is not None


def conditions(name: str) -> dict[str, float]:
    return {key: value for key, value in CONDITIONS.items() if key in law(name).conditions}


def reduced() -> list[str]:
    return [name for name in law_names() if two_powers(law(name), conditions(name))]


def test_most_laws_reduce_to_two_powers() -> None:
    assert {"besiroglu2024", "joint-moe2025", "gadre2024-c4", "kumar2024"} <= set(reduced())
    assert "muennighoff2023" not in reduced()


@pytest.mark.parametrize("name", reduced())
def test_the_reduced_law_is_the_law(name: str) -> None:
    closed = two_powers(law(name), conditions(name))
    assert closed is not None
    for params, tokens in ((1e8, 1e10), (7e9, 2e12)):
        whole = float(law(name).loss(params, tokens, **conditions(name)))
        assert closed.loss(params, tokens) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("name", reduced())
@pytest.mark.parametrize("flops", [1e20, 5.76e23, 1e26])
def test_the_best_split_is_the_one_that_a_search_finds(name: str, flops: float) -> None:
    params, tokens = best_split(flops=flops, law=law(name), conditions=conditions(name))

    def losses(sizes: np.ndarray) -> np.ndarray:
        return loss_at_sizes(law(name), sizes, lambda x: np.full_like(x, flops), **conditions(name))

    found, _ = minimise(losses, low=1e3, high=1e18)
    assert params == pytest.approx(found, rel=2e-3)
    assert 6 * params * tokens == pytest.approx(flops)


@pytest.mark.parametrize("params", [1.24e8, 8e9, 4e11])
def test_the_stop_point_is_the_one_that_a_search_finds(params: float) -> None:
    chosen = law("besiroglu2024")
    found = _first_below(lambda d: 1 - chosen.loss(params, 2 * d) / chosen.loss(params, d), 0.015)
    stop = marginal_gain(params=params, tokens=1e11, threshold=0.015).stop_tokens
    assert stop == pytest.approx(found, rel=1e-3)


@given(st.floats(1e8, 1e12), st.floats(0.002, 0.1))
def test_the_stop_point_is_where_a_doubling_gains_the_threshold(
    params: float, threshold: float
) -> None:
    assert DEFAULT is not None
    stop = DEFAULT.stop_tokens(params, threshold)
    gain = 1 - DEFAULT.loss(params, 2 * stop) / DEFAULT.loss(params, stop)
    assert gain == pytest.approx(threshold)


def test_no_doubling_gains_more_than_its_power_allows() -> None:
    assert DEFAULT is not None
    assert DEFAULT.stop_tokens(1e9, 0.5) == 0.0


@given(st.floats(1e7, 1e12), st.floats(1e9, 1e14))
def test_neither_more_parameters_nor_more_tokens_raise_the_loss(
    params: float, tokens: float
) -> None:
    assert DEFAULT is not None
    here = DEFAULT.loss(params, tokens)
    assert DEFAULT.loss(2 * params, tokens) <= here
    assert DEFAULT.loss(params, 2 * tokens) <= here
