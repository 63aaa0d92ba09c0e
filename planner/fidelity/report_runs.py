"""The report's sections on whole runs, on calibration and on what each term is worth."""

from __future__ import annotations

import math

import numpy as np

from planner.fidelity.ablation import TOUCHED
from planner.fidelity.analyses import Analyses
from planner.fidelity.calibration import COUNTS, DRAWS, FEWEST_LEFT, Trial, widths
from planner.fidelity.markdown import percent, prose, signed, table
from planner.fidelity.scores import score
from planner.fidelity.whole_run_check import Total
from planner.planning.intervals import Z80

STALE = "*Measured with an earlier engine; `python -m benchmarks.ablation` measures again.*"


def totals_section(numbers: Analyses) -> str:
    """Device-hours of whole runs."""
    found = score([total.row for total in numbers.totals])
    columns = ["run", "accelerator", "settings", "reported", "predicted", "error", "80 % interval"]
    rows = [_total(total) for total in numbers.totals]
    text = f"""
Device-hours that were reported for a number of tokens, against steps times step time with
checkpoints, start-up and failures as `forerun plan` assumes them. {found.n} runs: median error
{percent(found.median_ape)}, nine in ten closer than {percent(found.p90_ape)},
{percent(found.coverage80)} inside the interval. Reports hold more than steps (restarts by hand,
idle devices, evaluation, rounded figures), so a run's interval is wider than its step's; how much
wider is measured on the other runs. *Settings* says how well they are documented.
"""
    return f"## Whole runs\n\n{prose(text)}\n\n{table(columns, rows)}"


def _total(total: Total) -> list[object]:
    row, configuration = total.row, total.run.case.configuration
    inside = "" if row.covered else ", outside"
    return [
        f"{configuration.model.name} ({row.id})",
        configuration.sku,
        total.run.confidence,
        f"{_hours(row.actual)} h",
        f"{_hours(row.predicted)} h",
        signed(row.predicted / row.actual - 1),
        f"{_hours(row.low)} to {_hours(row.high)} h{inside}",
    ]


def _hours(value: float) -> str:
    """Three digits, thousands separated."""
    if value >= 1000:
        digits = max(0, int(math.log10(value)) - 2)
        return f"{round(value, -digits):,.0f}"
    return f"{value:.3g}"


def calibration_section(numbers: Analyses) -> str:
    """What a few runs of one's own bring."""
    columns = [
        "own runs",
        "sources",
        "without",
        "calibrated",
        "worst source",
        "80 % without",
        "80 % calibrated",
    ]
    text = f"""
A source's constants are left out, then moved by some of its own runs, drawn at random ({DRAWS}
draws), and its other rows are predicted. Three factors move, shrunk towards 1: on every time, on
the host's work, on the rate of attention (`planner/fidelity/calibration.py`). Figures are means
over sources of the median error; a source takes part where {FEWEST_LEFT} rows or more remain, so
compare along a row, not down a column. *Worst source* is the largest ratio of calibrated to
uncalibrated error. How far to shrink was chosen on these same trials, so that few runs do little
harm. The intervals are those that hold 80 % on average over sources; after calibration they
follow how well the own runs agree with each other, so that a source of like runs gets a narrow one
and a source of unlike runs a wide one (the narrowest to the widest source is shown).
"""
    counts = [_count(numbers.trials, count) for count in COUNTS]
    return f"## A few runs of your own\n\n{prose(text)}\n\n{table(columns, counts)}"


def _count(trials: list[Trial], count: int) -> list[object]:
    mine = [trial for trial in trials if trial.count == count]
    before, after = widths(trials, count)
    return [
        count,
        len(mine),
        percent(float(np.mean([trial.before for trial in mine]))),
        percent(float(np.mean([trial.after for trial in mine]))),
        f"{max(trial.after / trial.before for trial in mine):.2f}",
        _band(before),
        f"{_band(min(after.values()))} to {max(_factors(after)):.2f}",
    ]


def _band(sigma: float) -> str:
    return f"×/÷ {math.exp(Z80 * sigma):.2f}"


def _factors(sigmas: dict[str, float]) -> list[float]:
    return [math.exp(Z80 * each) for each in sigmas.values()]


def ablation_section(numbers: Analyses) -> str:
    """What each term of the step-time model is worth."""
    columns = ["without", "mean of source medians", "rows it touches", "their median error"]
    rows = [
        [
            each.name,
            f"{percent(each.mean_with)} → {percent(each.mean_without)}",
            each.touched,
            f"{percent(each.touched_with)} → {percent(each.touched_without)}"
            if each.touched
            else None,
        ]
        for each in numbers.worths
    ]
    text = f"""
One term is left out, the constants are refitted without each source, and the errors of the sources
left out are compared. A row is touched where the term is {percent(TOUCHED)} or more of its time.
Terms that hardly pay here stay where they matter on machines of which the table has few rows, such
as networks between nodes.
"""
    parts = ["## What each term is worth", prose(text), table(columns, rows)]
    if not numbers.worths_current:
        parts.append(STALE)
    return "\n\n".join(parts)
