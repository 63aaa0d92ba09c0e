"""Device-hours of whole runs."""

from __future__ import annotations

import numpy as np
import pytest

from planner.fidelity.scores import score
from planner.fidelity.validate import Measurements
from planner.fidelity.whole_run_check import run_spread, totals
from planner.fidelity.whole_runs import load_whole_runs
from planner.planning.intervals import Z80

SPREADS = {"base": 0.1, "guessed": 0.2}


def test_the_extra_deviation_is_what_the_step_leaves_uncovered() -> None:
    random = np.random.default_rng(3)
    logs = random.normal(0, np.hypot(0.1, 0.3), 4000)
    assert run_spread(logs, np.full(4000, 0.1)) == pytest.approx(0.3, rel=0.05)


def test_totals_inside_their_steps_intervals_need_no_more() -> None:
    logs = np.full(10, 0.05)
    assert run_spread(logs, np.full(10, 0.05 / Z80 * 1.01)) == pytest.approx(0.0, abs=1e-6)


def test_published_totals_are_predicted(measurements: Measurements) -> None:
    found = totals(load_whole_runs(), measurements.left_out, SPREADS)
    each = score([total.row for total in found])
    assert each.n == 18
    assert each.median_ape < 0.20
    assert each.coverage80 >= 0.75
