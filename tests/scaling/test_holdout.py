"""The hold-out that the accuracy of fits stands on, on published runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.scaling_families import families
from benchmarks.scaling_holdout import (
    COVERAGE,
    TARGETS,
    Result,
    group_errors,
    hold_out,
    pooled_coverage,
)


@pytest.fixture(scope="module")
def results(shared: Path) -> list[Result]:
    found = families(shared / "data" / "scaling")
    return [hold_out(family, draws=60) for family in found]


def test_the_largest_runs_are_predicted_within_the_targets(results: list[Result]) -> None:
    for group, error in group_errors(results).items():
        assert error <= TARGETS[group], f"{group}: {error:.2%}"


def test_the_intervals_hold_as_many_runs_as_they_say(results: list[Result]) -> None:
    by_run, by_family = pooled_coverage(results)
    low, high = COVERAGE
    assert low <= by_run <= high
    assert by_family >= low
