"""Error summaries on tables whose answers are known."""

from __future__ import annotations

import pytest

from planner.fidelity.scores import FEWEST_ROWS, mean_of_sources, score, score_by
from tests.fidelity.synthetic import row


def test_errors_bias_and_coverage_of_a_known_table() -> None:
    rows = [row(1.0, 1.1), row(1.0, 0.9), row(1.0, 2.0), row(1.0, 1.2), row(1.0, 1.0)]
    found = score(rows)
    assert found.n == 5
    assert found.median_ape == pytest.approx(0.1)
    assert found.p90_ape == pytest.approx(0.2 + 0.6 * 0.8)  # between the two worst: 0.2 and 1.0
    assert found.bias == pytest.approx(0.1)
    assert found.coverage80 == pytest.approx(0.8)  # 2.0 / 1.25 lies above 1.0


def test_a_refused_row_counts_as_an_error_of_100_percent_outside_its_interval() -> None:
    found = score([row(1.0, 1.0)], refused=3)
    assert (found.n, found.median_ape, found.coverage80) == (4, 1.0, 0.25)
    assert found.bias == 0.0  # of what was predicted


def test_a_source_of_refused_rows_only_stays_in_the_table() -> None:
    found = score_by([row(1.0, 1.1)], lambda each: each.source, refused=["gone", "gone"])
    assert list(found) == ["gone", "lab"]
    assert (found["gone"].n, found["gone"].median_ape, found["gone"].bias) == (2, 1.0, None)


def test_no_row_has_no_score() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        score([])


def test_the_mean_over_sources_weighs_a_large_source_no_more_than_a_small_one() -> None:
    large = [row(1.0, 1.1, source="large") for _ in range(500)]
    small = [row(1.0, 1.3, source="small") for _ in range(FEWEST_ROWS)]
    tiny = [row(1.0, 9.0, source="tiny") for _ in range(FEWEST_ROWS - 1)]
    scores = score_by([*large, *small, *tiny], lambda each: each.source)
    assert mean_of_sources(scores) == pytest.approx(0.2)
    assert list(scores) == ["large", "small", "tiny"]


def test_no_source_with_enough_rows_has_no_mean() -> None:
    assert mean_of_sources({}) is None
