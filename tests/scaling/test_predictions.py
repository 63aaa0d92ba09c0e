"""Every published prediction of the shared table, recomputed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.scaling_predictions import NEAR, SAME, Row, rows


@pytest.fixture(scope="module")
def table(shared: Path) -> list[Row]:
    return rows(shared / "data" / "scaling" / "predictions.csv")


def test_nine_in_ten_predictions_are_computed(table: list[Row]) -> None:
    assert sum(row.ours is not None for row in table) >= 0.85 * len(table)


def test_recomputed_values_agree_where_form_and_constants_are_the_same(table: list[Row]) -> None:
    for row in table:
        off = row.off(row.computed)
        other_constants = row.law.startswith("Joint MoE") and "opt" in row.quantity
        if off is not None and not other_constants:
            assert abs(off) <= SAME, f"{row.name}: {off:+.2%}"


def test_published_values_agree_or_the_difference_is_explained(table: list[Row]) -> None:
    for row in table:
        off = row.off(row.published)
        if off is not None and abs(off) > NEAR:
            assert row.explanation, f"{row.name}: {off:+.2%}"


def test_what_is_not_computed_has_a_reason(table: list[Row]) -> None:
    for row in table:
        if row.ours is None:
            assert row.explanation, row.name
