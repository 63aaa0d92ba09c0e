"""How far predicted peaks lie from published ones: `python -m planner.fidelity.memory_report`."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.constants import constants
from planner.fidelity.case import Case
from planner.fidelity.infer import load_cases
from planner.fidelity.memory import MemoryPrediction, left_out, spreads
from planner.planning.intervals import Z80

Array = np.ndarray[Any, np.dtype[Any]]

FITS, DOES_NOT = 0.9, 0.1  # probabilities from which a verdict is certain


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Errors of the cases of one source, or of all, whose peak was measured."""

    n: int
    median_ape: float
    p90_ape: float
    bias: float  # median of predicted over actual
    coverage80: float  # share inside the 80 % interval


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReport:
    """Peaks of all cases, predicted with constants that their source did not decide."""

    cases: tuple[Case, ...]
    prediction: MemoryPrediction
    sigma: Array  # (n,)
    fit_probability: Array  # (n,)

    @property
    def same(self) -> Errors:
        """Over all cases with a measured peak."""
        return self._errors(np.ones(len(self.cases), dtype=bool))

    def by_source(self) -> dict[str, Errors]:
        """By source, in alphabetical order."""
        groups = np.array([case.group for case in self.cases])
        found = {str(name): groups == name for name in np.unique(groups)}
        return {name: self._errors(mask) for name, mask in found.items()}

    @property
    def oom_recall(self) -> float:
        """Share of runs that failed for memory and are not called `fits`."""
        failed = np.array([case.oom for case in self.cases])
        return float(np.mean(self.fit_probability[failed] < FITS))

    @property
    def ran_called_does_not(self) -> float:
        """Share of runs that ran and are called `does-not`."""
        ran = np.array([not case.oom for case in self.cases])
        return float(np.mean(self.fit_probability[ran] <= DOES_NOT))

    @property
    def fit_accuracy(self) -> float:
        """Share of runs with a known outcome whose best estimate falls on the right side."""
        failed = np.array([case.oom for case in self.cases])
        return float(np.mean((self.fit_probability >= 0.5) != failed))

    def verdicts(self) -> list[str]:
        """`fits`, `uncertain` or `does-not` of each case."""
        return [verdict(float(each)) for each in self.fit_probability]

    def _errors(self, chosen: Array) -> Errors:
        actual = np.array([case.actual_peak_bytes or np.nan for case in self.cases])
        kept = chosen & ~np.isnan(actual)
        ratio = self.prediction.seen[kept] / actual[kept]
        ape, inside = np.abs(ratio - 1), np.abs(np.log(ratio)) <= Z80 * self.sigma[kept]
        return Errors(
            n=int(kept.sum()),
            median_ape=float(np.median(ape)),
            p90_ape=float(np.quantile(ape, 0.9)),
            bias=float(np.median(ratio)),
            coverage80=float(np.mean(inside)),
        )


def verdict(probability: float) -> str:
    """The word for a probability that a run fits.

    >>> verdict(0.95), verdict(0.5), verdict(0.02)
    ('fits', 'uncertain', 'does-not')
    """
    if probability >= FITS:
        return "fits"
    return "does-not" if probability <= DOES_NOT else "uncertain"


def memory_report(cases: Sequence[Case]) -> MemoryReport:
    """The report over the cases that have a peak or failed for memory."""
    kept = tuple(case for case in cases if case.actual_peak_bytes is not None or case.oom)
    prediction, sigma = left_out(kept, constants()), spreads(kept)
    room = np.log(prediction.capacity / prediction.needed) / (sigma * math.sqrt(2))
    return MemoryReport(
        cases=kept,
        prediction=prediction,
        sigma=sigma,
        fit_probability=np.array([0.5 * (1 + math.erf(each)) for each in room]),
    )


def main() -> None:
    """Print the report of the shipped table."""
    sys.stdout.write("\n".join(lines(memory_report(load_cases()[0]))) + "\n")


def lines(report: MemoryReport) -> list[str]:
    """The report as a table by source and a line of verdicts."""
    rows = {**report.by_source(), "all": report.same}
    made = [f"{'source':32} {'n':>4} {'median':>7} {'p90':>7} {'bias':>6} {'in 80 %':>7}"]
    for name, each in rows.items():
        figures = f"{each.median_ape:7.1%} {each.p90_ape:7.1%} {each.bias:6.3f}"
        made.append(f"{name:32} {each.n:4} {figures} {each.coverage80:7.0%}")
    made.append(
        f"out-of-memory runs not called fits {report.oom_recall:.0%}, "
        f"runs that ran called does-not {report.ran_called_does_not:.1%}, "
        f"fit accuracy {report.fit_accuracy:.1%}"
    )
    return made


if __name__ == "__main__":
    main()
