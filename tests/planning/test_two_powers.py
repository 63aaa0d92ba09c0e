"""Closed forms against the searches that find the same numbers for every law."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.planning.two_powers import best_split, doubling_gain, loss_at, stop_tokens
from planner.scaling.allocation import optimum
from planner.scaling.laws import law
from planner.scaling.marginal import marginal_gain

K = law("besiroglu2024").constants


@pytest.mark.parametrize("flops", [1e20, 5.76e23, 1e26])
def test_the_best_split_is_the_one_that_the_search_finds(flops: float) -> None:
    params, tokens = best_split(flops, K)
    found = optimum(flops=flops, law="besiroglu2024")
    assert params == pytest.approx(found.params, rel=2e-3)
    assert tokens == pytest.approx(found.tokens, rel=2e-3)


@given(st.floats(1e8, 1e12), st.floats(0.002, 0.1))
def test_the_stop_point_is_where_a_doubling_gains_the_threshold(
    params: float, threshold: float
) -> None:
    assert doubling_gain(params, stop_tokens(params, threshold, K), K) == pytest.approx(threshold)


@pytest.mark.parametrize("params", [1.24e8, 8e9, 4e11])
def test_the_stop_point_is_the_one_that_the_search_finds(params: float) -> None:
    found = marginal_gain(params=params, tokens=1e11, threshold=0.015, law="besiroglu2024")
    assert stop_tokens(params, 0.015, K) == pytest.approx(found.stop_tokens, rel=1e-3)


def test_no_doubling_gains_more_than_its_power_allows() -> None:
    assert stop_tokens(1e9, 0.5, K) == 0.0


@given(st.floats(1e7, 1e12), st.floats(1e9, 1e14))
def test_neither_more_parameters_nor_more_tokens_raise_the_loss(
    params: float, tokens: float
) -> None:
    here = loss_at(params, tokens, K)
    assert loss_at(2 * params, tokens, K) <= here
    assert loss_at(params, 2 * tokens, K) <= here
