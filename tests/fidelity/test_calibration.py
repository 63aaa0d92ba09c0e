"""What a few runs of one's own change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.engine.constants import constants
from planner.errors import PlannerError
from planner.fidelity.calibration import (
    COUNTS,
    Factors,
    calibrate,
    calibration,
    factors_of,
    trials,
    widths,
)
from planner.fidelity.case import Case
from planner.fidelity.fit import predict, time_rows
from planner.fidelity.validate import Measurements
from tests.fidelity.synthetic import case


def runs(factor: float, count: int) -> list[Case]:
    """Runs that take `factor` times what the shipped constants say, at several batches."""
    plain = [replace(case(str(n), micro_batch=n + 8), actual_seconds=1.0) for n in range(count)]
    seconds = predict(time_rows(plain), constants())
    return [
        replace(each, actual_seconds=float(value) * factor)
        for each, value in zip(plain, seconds, strict=True)
    ]


def test_a_scale_moves_every_time_by_its_factor() -> None:
    rows = time_rows(runs(1.0, 4))
    moved = Factors(scale=np.log(1.3), host=0.0, attention=0.0).applied(constants())
    assert predict(rows, moved) == pytest.approx(1.3 * predict(rows, constants()), rel=1e-9)


def test_runs_that_agree_move_the_constants_most_of_the_way() -> None:
    own, others = runs(1.15, 10), time_rows(runs(1.15, 20)[10:])
    moved = predict(others, calibrate(own))
    before = predict(others, constants())
    assert np.all(np.abs(moved / others.actual - 1) < 0.3 * np.abs(before / others.actual - 1))


def test_more_runs_move_further_than_one() -> None:
    shifts = [
        float(predict(time_rows(runs(1.15, 12)), calibrate(runs(1.15, count)))[-1])
        for count in (1, 3, 10)
    ]
    assert shifts == sorted(shifts)
    assert shifts[0] < shifts[-1]


def test_runs_that_scatter_leave_the_constants_nearly_alone() -> None:
    scattered = np.array([np.log(0.5), np.log(2.2), np.log(0.6), np.log(1.9)])
    assert abs(factors_of(np.tile(scattered, (25, 1))).scale) < 0.03


def test_right_predictions_change_nothing() -> None:
    assert calibrate(runs(1.0, 5)) == constants()


def test_calibration_starts_from_the_constants_it_is_given() -> None:
    start = replace(constants(), gemm_nvidia=0.5)
    assert calibrate(runs(1.0, 1), start).gemm_nvidia > 0.5  # runs are faster than those say


def test_without_a_measured_time_there_is_nothing_to_calibrate_by() -> None:
    with pytest.raises(PlannerError, match="at least one measured step time"):
        calibrate([case()])


def test_runs_that_agree_narrow_the_interval_and_runs_that_scatter_widen_it() -> None:
    like = runs(1.1, 8)
    unlike = [
        replace(each, actual_seconds=(each.actual_seconds or 0) * (2 if number % 2 else 0.5))
        for number, each in enumerate(like)
    ]
    one, eight, wild = (calibration(each).sigma for each in (like[:1], like, unlike))
    assert eight < one < wild
    assert calibration(like).count == 8


def test_own_runs_help_on_average_and_harm_no_source(measurements: Measurements) -> None:
    tried = trials(time_rows(measurements.evidence.timed), measurements.left_out)
    for count in COUNTS:
        mine = [trial for trial in tried if trial.count == count]
        after = np.mean([trial.after for trial in mine])
        assert after < np.mean([trial.before for trial in mine])
        assert max(trial.after / trial.before for trial in mine) < 1.1
    five = [trial.after for trial in tried if trial.count == 5]
    assert np.mean(five) < 0.12
    before, after = widths(tried, 10)
    assert min(after.values()) < 0.75 * before
