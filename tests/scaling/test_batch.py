"""Batch size, learning rate, accumulation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.scaling.accumulation import count_epoch, window_loss
from planner.scaling.critical_batch import (
    best_batch_of_loss,
    critical_batch_of_loss,
    critical_batch_of_tokens,
    effective_tokens,
    steps_needed,
    trade_off,
)
from planner.scaling.learning_rate import noisy_rate_bound, published_settings, rescale

BATCH = st.floats(min_value=1e3, max_value=1e8)


def test_kaplans_critical_batch_is_two_hundred_million_tokens_at_loss_one() -> None:
    assert critical_batch_of_loss(1.0) == pytest.approx(2e8)
    assert critical_batch_of_loss(2.0) / critical_batch_of_loss(4.0) == pytest.approx(
        2 ** (1 / 0.21)
    )


def test_minicpms_batch_at_loss_three() -> None:
    assert best_batch_of_loss(3.0) == pytest.approx(1.27511e6, rel=1e-5)


def test_a_hundred_times_the_data_carries_the_critical_batch_8_7_fold() -> None:
    carried = critical_batch_of_tokens(1e12, measured_batch=1e5, measured_tokens=1e10)
    assert carried / 1e5 == pytest.approx(100**0.47)


def test_at_the_critical_batch_steps_and_tokens_are_twice_their_least() -> None:
    assert steps_needed(min_steps=5000, critical_batch=2e6, batch=2e6) == 10_000
    point = trade_off(tokens=1e10, critical_batch=2e6, batch=2e6)
    assert point.tokens == 2e10
    assert point.steps == 10_000


@given(batch=BATCH, critical=BATCH)
def test_steps_and_tokens_obey_mccandlish(batch: float, critical: float) -> None:
    point = trade_off(tokens=1e12, critical_batch=critical, batch=batch)
    least_steps = 1e12 / critical
    assert (point.steps / least_steps - 1) * (point.tokens / 1e12 - 1) == pytest.approx(1, rel=1e-3)


@given(batch=BATCH)
def test_a_larger_batch_needs_fewer_steps_and_more_tokens(batch: float) -> None:
    small, large = (
        trade_off(tokens=1e12, critical_batch=1e6, batch=size, tokens_per_second=1e6)
        for size in (batch, 2 * batch)
    )
    assert large.steps < small.steps
    assert large.tokens > small.tokens
    assert large.seconds > small.seconds  # type: ignore[operator]


def test_devices_in_proportion_to_the_batch_shorten_the_run() -> None:
    small, large = (
        trade_off(
            tokens=1e12, critical_batch=1e6, batch=b, tokens_per_second=1e5, reference_batch=1e5
        )
        for b in (1e5, 1e6)
    )
    assert large.seconds_grown < small.seconds_grown  # type: ignore[operator]
    assert small.seconds_grown == small.seconds


def test_tokens_at_a_large_batch_are_worth_fewer() -> None:
    assert effective_tokens(tokens=2e10, batch=1e6, critical_batch=1e6) == 1e10


def test_a_batch_larger_than_all_the_data_is_refused() -> None:
    with pytest.raises(PlannerError, match="batch"):
        trade_off(tokens=1e6, critical_batch=1e6, batch=1e7)


def test_an_epoch_of_240000_examples_has_7500_steps_not_937() -> None:
    """DeepSpeed#131."""
    epoch = count_epoch(examples=240_000, devices=8, micro_batch=1, global_batch=32)
    assert epoch.accumulation == 4
    assert epoch.loader_iterations == 30_000
    assert epoch.optimizer_steps == 7_500
    assert epoch.last_window == 4


def test_a_short_last_window_is_counted() -> None:
    epoch = count_epoch(examples=100, devices=2, micro_batch=5, accumulation=4)
    assert (epoch.loader_iterations, epoch.optimizer_steps, epoch.last_window) == (10, 3, 2)


@given(
    examples=st.integers(1, 5000),
    devices=st.integers(1, 16),
    micro=st.integers(1, 8),
    window=st.integers(1, 8),
)
def test_windows_add_up_to_the_micro_steps(
    examples: int, devices: int, micro: int, window: int
) -> None:
    epoch = count_epoch(examples=examples, devices=devices, micro_batch=micro, accumulation=window)
    whole = (epoch.optimizer_steps - 1) * window + epoch.last_window
    assert whole == epoch.loader_iterations
    assert epoch.loader_iterations * micro * devices >= examples


def test_dropping_the_rest_leaves_examples_out() -> None:
    epoch = count_epoch(examples=103, devices=4, micro_batch=5, accumulation=1, drop_last=True)
    assert epoch.loader_iterations == 5
    assert epoch.unused_examples == 3


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"global_batch": 30}, "global_batch"),
        ({"global_batch": None}, "global_batch"),
        ({"examples": 0}, "examples"),
        ({"accumulation": 2}, "global_batch"),
        ({"devices": -1}, "devices"),
    ],
)
def test_impossible_batches_are_refused(changes: dict[str, int | None], field: str) -> None:
    given_ = {"examples": 1000, "devices": 8, "micro_batch": 1, "global_batch": 32} | changes
    with pytest.raises(PlannerError, match=field):
        count_epoch(**given_)  # type: ignore[arg-type]


def test_a_window_is_averaged_by_tokens_and_the_wrong_ways_are_shown() -> None:
    """transformers#34191: 10 tokens at 4.0 and 90 at 2.0, the last window half full."""
    window = window_loss([10, 90], [4.0, 2.0], configured=4)
    assert window.loss == pytest.approx(2.2, abs=1e-12)
    assert window.mean_of_means == 3.0
    assert window.sum_of_means == 6.0
    assert window.divided_by_configured == 1.5
    assert "token-weighted" in window.warnings[0]
    assert "2 of 4" in window.warnings[1]


@given(losses=st.lists(st.floats(min_value=0, max_value=20), min_size=1, max_size=8))
def test_equal_micro_batches_are_averaged_plainly(losses: list[float]) -> None:
    window = window_loss([128] * len(losses), losses)
    assert window.loss == pytest.approx(window.mean_of_means)
    assert window.warnings == ()


def test_weighting_by_tokens_equals_one_big_batch() -> None:
    per_token = [[1.0, 2.0, 3.0], [10.0], [4.0, 6.0]]
    flat = [loss for batch in per_token for loss in batch]
    means = [sum(batch) / len(batch) for batch in per_token]
    window = window_loss([len(batch) for batch in per_token], means)
    assert window.loss == pytest.approx(sum(flat) / len(flat))


@pytest.mark.parametrize(
    ("tokens", "losses"), [([], []), ([1], [1.0, 2.0]), ([0, 0], [1.0, 2.0]), ([1, -1], [1.0, 2.0])]
)
def test_windows_without_tokens_are_refused(tokens: list[float], losses: list[float]) -> None:
    with pytest.raises(PlannerError):
        window_loss(tokens, losses)


def test_learning_rates_follow_the_batch_and_saturate() -> None:
    assert rescale(0.1, from_batch=256, to_batch=2048, rule="linear").rate == pytest.approx(0.8)
    assert rescale(3e-4, from_batch=256, to_batch=1024).rate == pytest.approx(6e-4)
    far = rescale(0.1, from_batch=256, to_batch=10**9, rule="linear", critical_batch=256)
    assert far.rate == pytest.approx(0.2, rel=1e-5)  # never above twice, from B_crit on
    assert far.ceiling == pytest.approx(0.2)
    assert far.warnings
    with pytest.raises(PlannerError, match="rule"):
        rescale(0.1, from_batch=1, to_batch=2, rule="cubic")


@given(batch=st.floats(min_value=1, max_value=1e9))
def test_saturation_only_lowers_a_rate_that_is_raised(batch: float) -> None:
    rescaled = rescale(1.0, from_batch=1.0, to_batch=batch, critical_batch=100.0)
    assert rescaled.rate <= rescaled.plain * (1 + 1e-12)
    assert rescaled.rate <= rescaled.ceiling * (1 + 1e-12)  # type: ignore[operator]


def test_the_bound_of_noisy_gradients() -> None:
    bound = noisy_rate_bound(
        rounding=2**-10, smoothness=2.0, gradient_variance=0.3, precision_variance=0.2
    )
    assert bound == pytest.approx(2 * 2**-10 / (2.0 * 0.5))
    with pytest.raises(PlannerError, match="precision_variance"):
        noisy_rate_bound(
            rounding=2**-10, smoothness=1.0, gradient_variance=1.0, precision_variance=-1.0
        )


def test_deepseeks_rate_for_its_own_67b() -> None:
    """arXiv:2401.02954: 3.2e-4 at 8.61e23 FLOP."""
    settings = {
        entry.name: entry for entry in published_settings(params=67e9, tokens=8.61e23 / 6 / 67e9)
    }
    assert settings["deepseek2024"].rate == pytest.approx(3.2e-4, rel=0.01)
    assert settings["deepseek2024"].inside is False
