"""Steady steps out of traces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.errors import ProfileError
from profiles.trace import steady_step


def test_a_trace_without_warm_up_keeps_every_step() -> None:
    assert steady_step([0.1, 0.1, 0.1]).warmup_steps == 0


def test_a_single_slow_step_in_the_middle_is_not_warm_up() -> None:
    found = steady_step([0.1] * 10 + [3.0] + [0.1] * 10)
    assert found.warmup_steps == 0
    assert found.step_s == 0.1


def test_a_long_trace_shows_its_own_drift() -> None:
    found = steady_step([0.1] * 20 + [0.105] * 20)
    assert found.derate == pytest.approx((0.0, 0.05))


@pytest.mark.parametrize("trace", [[], [0.0], [float("nan")], [0.1, -1.0]])
def test_a_trace_that_holds_no_times_is_refused(trace: list[float]) -> None:
    with pytest.raises(ProfileError, match="trace"):
        steady_step(trace)


@given(st.lists(st.floats(1e-6, 1e4), min_size=1, max_size=60))
def test_the_estimate_lies_inside_its_interval(trace: list[float]) -> None:
    found = steady_step(trace)
    assert found.low_s <= found.step_s <= found.high_s
    assert found.warmup_steps + found.steady_steps == len(trace)
