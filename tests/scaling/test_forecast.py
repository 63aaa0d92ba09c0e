"""The forecast of a loss: covers what others saw, widens where the law knows less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.scaling.conventions import convert, count_for
from planner.scaling.forecast import predict_loss
from planner.scaling.laws import law, law_names
from tests.scaling.models import tiny_model


def test_the_interval_covers_the_loss_that_another_recipe_saw() -> None:
    """8.7B parameters, 178B tokens, 7 epochs: about 2.38 in the curve (datablations#9)."""
    forecast = predict_loss(params=8.7e9, tokens=178e9, unique_tokens=25.4e9, law="muennighoff2023")
    assert forecast.value == pytest.approx(2.2261, abs=1e-4)
    assert forecast.low is not None
    assert forecast.high is not None
    assert forecast.high > 2.38
    assert forecast.high - forecast.value > 0.15
    assert forecast.value - forecast.low > 0.15
    assert "tokenizers" in forecast.reason


@given(
    params=st.floats(min_value=1e7, max_value=1e12), tokens=st.floats(min_value=1e9, max_value=1e14)
)
def test_the_interval_contains_the_value(params: float, tokens: float) -> None:
    forecast = predict_loss(params=params, tokens=tokens)
    assert forecast.low < forecast.value < forecast.high  # type: ignore[operator]


def test_far_outside_the_fit_the_interval_is_wider() -> None:
    def width(params: float, tokens: float) -> float:
        forecast = predict_loss(params=params, tokens=tokens)
        return np.log(forecast.high / forecast.low)  # type: ignore[operator,no-any-return]

    assert width(1e13, 1e16) > 1.02 * width(1e9, 2e10)


@pytest.mark.parametrize("name", [n for n in law_names() if law(n).conditions == ()])
def test_every_plain_law_forecasts(name: str) -> None:
    forecast = predict_loss(params=1e9, tokens=2e10, law=name)
    assert forecast.law == name
    assert 1.5 < forecast.value < 4  # type: ignore[operator]


def test_data_that_does_not_repeat_needs_no_law_of_repeats() -> None:
    forecast = predict_loss(params=1e9, tokens=2e10, unique_tokens=1e12)
    assert forecast.law == "besiroglu2024"
    assert predict_loss(params=1e9, tokens=2e10, unique_tokens=1e9).law == "muennighoff2023"


def test_an_allocation_gives_no_loss_and_says_why() -> None:
    forecast = predict_loss(params=1e9, tokens=2e10, law="hoffmann2022-a1")
    assert forecast.value is None
    assert "split" in forecast.reason


def test_negative_tokens_are_refused() -> None:
    with pytest.raises(PlannerError, match="tokens"):
        predict_loss(params=1e9, tokens=-1)


def test_a_model_enters_each_law_as_the_law_counts() -> None:
    model = tiny_model()
    embedding = model.input_embedding_params
    assert count_for(law("besiroglu2024"), model).params == model.params_total
    without = count_for(law("kaplan2020"), model)
    assert without.params == model.params_total - embedding - model.head_params


def test_a_sparse_model_enters_a_dense_law_with_its_active_parameters_and_a_warning() -> None:
    model = tiny_model(num_experts=8, top_k=2)
    counted = count_for(law("besiroglu2024"), model)
    assert counted.params == model.params_active < model.params_total
    assert "active" in counted.warnings[0]
    assert count_for(law("joint-moe2025"), model).warnings == ()


def test_embeddings_are_estimated_only_with_a_warning() -> None:
    estimated = convert(1e9, counts="non-embedding")
    assert estimated.warnings
    assert estimated.params + 47_491 * estimated.params ** (1 / 3) == pytest.approx(1e9)
    assert convert(1e9, counts="non-embedding", embedding_params=1e8).params == 9e8
    with pytest.raises(PlannerError, match="embedding_params"):
        convert(1e9, counts="non-embedding", embedding_params=2e9)
