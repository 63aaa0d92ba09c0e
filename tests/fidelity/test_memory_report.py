"""Published peaks, each predicted with constants that its source did not decide."""

from __future__ import annotations

import numpy as np
import pytest

from planner.engine.constants import constants
from planner.fidelity.infer import load_cases
from planner.fidelity.memory import fit_reserve, left_out, memory_batch, predict
from planner.fidelity.memory_report import MemoryReport, lines, memory_report


@pytest.fixture(scope="module")
def report() -> MemoryReport:
    return memory_report(load_cases()[0])


def test_median_and_tail_of_the_error_stay_under_the_aims(report: MemoryReport) -> None:
    errors = report.same
    assert errors.n >= 240
    assert errors.median_ape < 0.09
    assert errors.p90_ape < 0.25


def test_eighty_percent_intervals_cover_about_that_share(report: MemoryReport) -> None:
    assert 0.75 <= report.same.coverage80 <= 0.88
    large = [each for each in report.by_source().values() if each.n >= 20]
    assert len(large) >= 4
    assert min(each.coverage80 for each in large) >= 0.6


def test_no_run_that_failed_for_memory_is_called_fits(report: MemoryReport) -> None:
    assert sum(case.oom for case in report.cases) >= 18
    assert report.oom_recall == 1.0


def test_few_runs_that_ran_are_called_impossible(report: MemoryReport) -> None:
    assert report.ran_called_does_not <= 0.07
    assert report.fit_accuracy > 0.95


def test_the_reserve_comes_from_runs_that_print_both_figures(report: MemoryReport) -> None:
    c = constants()
    assert fit_reserve(report.cases, c).reserve == pytest.approx(c.reserve, rel=0.005)
    others = [case for case in report.cases if case.group != "MooreThreads/SimuMax"]
    assert fit_reserve(others, c) == c


def test_leaving_a_source_out_changes_only_what_that_source_fitted(report: MemoryReport) -> None:
    alone = predict(report.cases, constants(), memory_batch(report.cases))
    made = left_out(report.cases, constants())
    assert np.allclose(made.seen, alone.seen, rtol=0.01)


def test_the_report_has_a_line_for_every_source(report: MemoryReport) -> None:
    text = "\n".join(lines(report))
    assert all(name in text for name in report.by_source())
