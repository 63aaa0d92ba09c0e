"""Everything that the accuracy report says, as numbers, before any of it is worded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.fidelity import ablation
from planner.fidelity.ablation import Worth
from planner.fidelity.accelerators import Pair, benchmark_rows, pairs_of
from planner.fidelity.calibration import Trial, trials
from planner.fidelity.fit import time_rows
from planner.fidelity.leave_one_out import Progress, fingerprint, left_out_accelerators
from planner.fidelity.ranking import RankingScore, any_variant, ranking_score, same_work
from planner.fidelity.spreads import fit_spreads
from planner.fidelity.summary import Measured
from planner.fidelity.time import ASSUMED, left_out_predictions
from planner.fidelity.validate import LEFT_OUT, Measurements, answer
from planner.fidelity.weak_spots import WeakSpot, weak_spots
from planner.fidelity.whole_run_check import Total, totals
from planner.fidelity.whole_runs import load_whole_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyses:
    """The report's numbers. All with the source, or accelerator, left out."""

    answer: dict[str, Any]  # as `forerun validate --json`
    times: tuple[Measured, ...]
    peaks: tuple[Measured, ...]
    settings: RankingScore | None  # variants of equal work
    anything: RankingScore | None  # variants that also differ in length and precision
    table_pairs: list[Pair]
    benchmark_pairs: list[Pair]
    totals: list[Total]
    trials: list[Trial]
    worths: list[Worth]
    worths_current: bool  # they belong to this engine and table
    weak: list[WeakSpot]


def analyse(found: Measurements, progress: Progress | None = None) -> Analyses:
    """Everything about the shipped table; some seconds where constants are stored."""
    assert found.evidence.mode == LEFT_OUT, "the report is about sources left out"
    rows = time_rows(found.evidence.timed)
    accelerators = left_out_accelerators(rows, progress)
    predicted, doubts = left_out_predictions(rows, found.left_out)
    spreads = fit_spreads(np.log(predicted / rows.actual), doubts, rows.groups, ASSUMED)
    stored = ablation.read()
    return Analyses(
        answer=answer(found),
        times=found.times,
        peaks=found.peaks,
        settings=ranking_score(found.times, same_work),
        anything=ranking_score(found.times, any_variant),
        table_pairs=pairs_of(rows, accelerators),
        benchmark_pairs=pairs_of(benchmark_rows(), accelerators),
        totals=totals(load_whole_runs(), found.left_out, spreads),
        trials=trials(rows, found.left_out),
        worths=stored[1] if stored else [],
        worths_current=stored is not None and stored[0] == fingerprint(rows),
        weak=weak_spots((*found.times, *found.peaks)),
    )
