"""Error summaries: medians, tails, bias and coverage, pooled and by source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

FEWEST_ROWS = 5  # of a source that counts in the mean over sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One prediction against its measurement, seconds or bytes."""

    id: str
    source: str
    kind: str  # time | memory
    actual: float
    predicted: float
    low: float  # low to high is meant to hold 80 %
    high: float
    inferred: tuple[str, ...]  # fields that the published row lacked

    @property
    def ape(self) -> float:
        """|predicted / actual − 1|, a fraction."""
        return abs(self.predicted / self.actual - 1)

    @property
    def covered(self) -> bool:
        return self.low <= self.actual <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Errors of some rows; a refused row counts as an error of 100 %. Fractions."""

    n: int  # refused rows included
    median_ape: float
    p90_ape: float
    bias: float | None  # median of predicted / actual − 1, None where every row was refused
    coverage80: float


def score(rows: Sequence[Row], refused: int = 0) -> Score:
    """Summary of `rows` with `refused` further ones that could not be planned.

    Raises ValueError without any row: no error is not an error of zero.
    """
    if not rows and not refused:
        raise ValueError("a score needs at least one row")
    errors = np.array([row.ape for row in rows] + [1.0] * refused)
    ratios = np.array([row.predicted / row.actual for row in rows])
    covered = [row.covered for row in rows] + [False] * refused
    return Score(
        n=len(errors),
        median_ape=float(np.median(errors)),
        p90_ape=float(np.quantile(errors, 0.9)),
        bias=float(np.median(ratios) - 1) if len(ratios) else None,
        coverage80=float(np.mean(covered)),
    )


def score_by(
    rows: Sequence[Row], key: Callable[[Row], str], refused: Sequence[str] = ()
) -> dict[str, Score]:
    """Summaries by a key, most rows first; `refused` holds the keys of refused rows."""
    found: dict[str, list[Row]] = {name: [] for name in refused}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    scores = {name: score(own, list(refused).count(name)) for name, own in found.items()}
    return dict(sorted(scores.items(), key=lambda item: (-item[1].n, item[0])))


def mean_of_sources(scores: dict[str, Score]) -> float | None:
    """Mean of the median errors of sources with at least FEWEST_ROWS rows, None without one."""
    medians = [each.median_ape for each in scores.values() if each.n >= FEWEST_ROWS]
    return float(np.mean(medians)) if medians else None
