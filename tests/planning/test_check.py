"""Reported rates: possible or not, and against our own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.planning.check import check_mfu, check_reported
from planner.planning.rates import throughput_of
from tests.planning.jobs import bones, job


@given(st.floats(1.0001, 100), st.integers(1, 10**6))
def test_more_than_the_peak_is_impossible(mfu: float, devices: int) -> None:
    assert not check_mfu(mfu, devices).possible


def test_our_own_rate_is_possible_and_equal_to_itself() -> None:
    outline = bones(job())
    found = check_reported(outline, throughput_of(outline).tokens_per_second)
    assert found["possible"]
    assert found["against_plan"] == pytest.approx(1)
    assert found["mfu"] == pytest.approx(throughput_of(outline).mfu)


def test_a_rate_summed_over_devices_is_recognised() -> None:
    outline = bones(job())
    found = check_reported(outline, 64 * throughput_of(outline).tokens_per_second)
    assert not found["possible"]
    assert "summed over 64 devices" in found["says"]


def test_nonsense_is_refused() -> None:
    with pytest.raises(PlannerError, match="above zero"):
        check_mfu(float("nan"))
