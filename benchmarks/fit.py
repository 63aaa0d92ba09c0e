"""Refit the shipped constants and everything that depends on them: `python -m benchmarks.fit`.

Writes planner/engine/data/constants.json (fitted constants; those of memory stay as they are),
planner/fidelity/data/leave_one_out.json (constants without each source and each accelerator) and
in planner/engine/data/intervals.json all sections but `memory`. Two or three minutes, the same
result every time.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from math import exp
from pathlib import Path
from typing import Any

import numpy as np

from planner.engine import constants as constants_module
from planner.engine.constants import Constants
from planner.fidelity import leave_one_out
from planner.fidelity.calibration import COUNTS, trials, width_factor
from planner.fidelity.fit import Fitted, TimeRows, fit, priors, time_rows
from planner.fidelity.leave_one_out import ACCELERATORS, SOURCES, Found, refit
from planner.fidelity.scores import Row, mean_of_sources, score, score_by
from planner.fidelity.spreads import fit_spreads
from planner.fidelity.time import ASSUMED, left_out_predictions, left_out_rows
from planner.fidelity.validate import gather
from planner.fidelity.whole_run_check import run_spread, total_logs
from planner.fidelity.whole_runs import load_whole_runs
from planner.planning import intervals
from planner.planning.intervals import Z80

COMMAND = "python -m benchmarks.fit"
_MEANING = re.compile(r"^    (\w+): float(?:  # (.+))?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refit:
    """What a refit finds."""

    fitted: Fitted  # to every source
    left_out: dict[str, Found]  # SOURCES and ACCELERATORS


def main(arguments: Sequence[str] | None = None) -> None:
    """Refit, write the files and print the errors before and after."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Refit the shipped constants.")
    parser.add_argument("--date", default=date.today().isoformat(), help="day of the fit")
    parser.add_argument("--dry-run", action="store_true", help="print, write nothing")
    asked = parser.parse_args(arguments)
    rows = time_rows(gather().timed)
    before = leave_one_out.read(rows)
    print(_line("before", None if before is None else left_out_rows(rows, found=before[SOURCES])))
    found = everything(rows)
    print(_line("after", left_out_rows(rows, found=found.left_out[SOURCES])))
    widths = interval_sections(rows, found.left_out[SOURCES])
    print(
        f"spreads: {widths['time']}, whole runs {widths['run']}, calibrated {widths['calibrated']}"
    )
    if not asked.dry_run:
        write_constants(found, asked.date)
        leave_one_out.write(rows, found.left_out)
        write_intervals(widths)


def everything(rows: TimeRows) -> Refit:
    """The fit to all rows and those without each source and each accelerator."""
    return Refit(
        fitted=fit(rows),
        left_out={what: refit(rows, what, _progress(what)) for what in (SOURCES, ACCELERATORS)},
    )


def _progress(what: str) -> leave_one_out.Progress:
    def show(done: int, total: int) -> None:
        print(f"without each of the {what}: {done} of {total}", file=sys.stderr)

    return show


def _line(label: str, rows: list[Row] | None) -> str:
    if rows is None:
        return f"{label}: the stored constants belong to another engine or table"
    each = score(rows)
    mean = mean_of_sources(score_by(rows, lambda row: row.source))
    return (
        f"{label}: median {each.median_ape:.2%}, p90 {each.p90_ape:.2%}, mean of source medians"
        f" {mean:.2%}, coverage {each.coverage80:.2%}, sources left out"
    )


def write_constants(found: Refit, day: str, path: Path = constants_module.FILE) -> None:
    """The fitted constants with interval, prior and meaning; others keep their rows."""
    table = json.loads(path.read_text(encoding="utf-8"))
    kept = table["constants"]
    meanings = meanings_of()
    deviations = deviations_of(found)
    for name in priors():
        kept[name] = _entry(name, found.fitted.constants, deviations[name], meanings[name])
    text = {
        "fit": {
            "command": COMMAND,
            "date": day,
            "table": "planner/fidelity/data/runs.csv",
            "rows": found.fitted.rows,
            "sources": found.fitted.sources,
            "intervals": "80 %: the wider of the curvature at the optimum and the jackknife over"
            " sources",
            "priors": "planner/engine/data/priors.toml, set from kernel and host measurements by"
            " people who had seen the table",
        },
        "constants": {name: kept[name] for name in meanings},
    }
    path.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")


def _entry(name: str, c: Constants, deviation: float, meaning: str) -> dict[str, Any]:
    value = getattr(c, name)
    factor = exp(Z80 * deviation)
    return {
        "value": _digits(value),
        "low": _digits(value / factor),
        "high": _digits(value * factor),
        "prior": priors()[name].value,
        "meaning": meaning,
    }


def _digits(value: float) -> float:
    return float(f"{value:.5g}")


def meanings_of() -> dict[str, str]:
    """What each constant's line in its class says; a bare line is as the one above."""
    source = Path(constants_module.__file__).read_text(encoding="utf-8")
    meanings: dict[str, str] = {}
    above = ""
    for name, comment in _MEANING.findall(source):
        above = comment or above
        meanings[name] = above
    return meanings


def deviations_of(found: Refit) -> dict[str, float]:
    """Of each constant's logarithm: curvature or jackknife over sources, whichever is wider."""
    fits = found.left_out[SOURCES].values()
    result = {}
    for name, curvature in found.fitted.deviations.items():
        logs = np.log([getattr(each, name) for each in fits])
        jackknife = np.sqrt((len(logs) - 1) * np.var(logs))
        result[name] = float(max(curvature, jackknife))
    return result


def interval_sections(rows: TimeRows, found: Found) -> dict[str, dict[str, float]]:
    """Deviations of step times and of whole runs beyond them; factors of own runs' scatter."""
    predicted, doubts = left_out_predictions(rows, found)
    time = fit_spreads(np.log(predicted / rows.actual), doubts, rows.groups, ASSUMED)
    runs = run_spread(*total_logs(load_whole_runs(), found, time))
    tried = trials(rows, found)
    return {
        "time": time,
        "run": {"beyond_step": round(runs, 4)},
        "calibrated": {str(count): round(width_factor(tried, count), 4) for count in COUNTS},
    }


def write_intervals(sections: dict[str, dict[str, float]], path: Path = intervals.FILE) -> None:
    """Replace those sections, leave the others."""
    table = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(table | sections, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
