"""Widths of intervals that must hold on a source that was not seen."""

from __future__ import annotations

import numpy as np
import pytest

from planner.fidelity.spreads import LEVEL, fit_spreads, left_out_sigmas, sigmas
from planner.planning.intervals import Z80

NONE: tuple[str, ...] = ()


def draws(deviations: list[float], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Residuals of sources that scatter by these deviations, and their names."""
    random = np.random.default_rng(7)
    logs = np.concatenate([random.normal(0, each, rows) for each in deviations])
    return logs, np.repeat([f"source{index}" for index in range(len(deviations))], rows)


def test_the_base_width_covers_the_level_on_average_over_sources() -> None:
    logs, groups = draws([0.05, 0.1, 0.2, 0.4], 200)
    base = fit_spreads(logs, [NONE] * len(logs), groups, {})["base"]
    covered = [np.mean(np.abs(logs[groups == name]) <= Z80 * base) for name in set(groups)]
    assert np.mean(covered) == pytest.approx(LEVEL, abs=0.01)


def test_a_source_of_thousands_sets_the_width_no_more_than_one_of_dozens() -> None:
    logs, groups = draws([0.05, 0.3], 40)
    many = np.concatenate([logs, np.tile(logs[:40], 50)])
    names = np.concatenate([groups, np.repeat("source0", 40 * 50)])
    alone = fit_spreads(logs, [NONE] * len(logs), groups, {})["base"]
    crowded = fit_spreads(many, [NONE] * len(many), names, {})["base"]
    assert crowded == pytest.approx(alone, rel=0.15)


def test_a_doubt_widens_the_rows_it_applies_to_and_no_others() -> None:
    logs, groups = draws([0.1, 0.1], 100)
    doubts = [("mixture",) if index % 2 else NONE for index in range(len(logs))]
    logs = np.where([bool(each) for each in doubts], logs * 3, logs)
    table = fit_spreads(logs, doubts, groups, {})
    plain, doubted = sigmas([NONE, ("mixture",)], table)
    assert doubted / plain == pytest.approx(3.0, rel=0.3)


def test_an_assumed_doubt_stands_however_well_its_few_rows_fit() -> None:
    logs, groups = draws([0.1, 0.1], 100)
    table = fit_spreads(logs, [NONE] * len(logs), groups, {"offload": 0.4})
    assert table["offload"] / table["base"] > 2


def test_a_width_comes_from_the_other_sources_only() -> None:
    logs, groups = draws([0.1, 0.1, 0.1], 100)
    wild = np.where(groups == "source0", logs * 50, logs)
    before = left_out_sigmas(logs, [NONE] * len(logs), groups, {})
    after = left_out_sigmas(wild, [NONE] * len(logs), groups, {})
    own = groups == "source0"
    assert after[own] == pytest.approx(before[own])
    assert np.all(after[~own] > 2 * before[~own])


def test_a_row_without_a_measurement_gets_a_width_and_has_no_part_in_others() -> None:
    logs, groups = draws([0.1, 0.1], 100)
    holes = logs.copy()
    holes[::10] = np.nan
    widths = left_out_sigmas(holes, [NONE] * len(logs), groups, {})
    assert np.all(np.isfinite(widths))
