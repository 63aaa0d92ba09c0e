"""Fit of the step-time constants to published runs: weights by source, priors from benchmarks.

Minimises over the logarithms of the constants
    sum over sources s of w_s / n_s · sum over its rows of rho(log(predicted / actual) / SCALE)
    + STRENGTH · sum of (log(constant / prior) / spread)²
with rho the pseudo-Huber loss. A source's weight w_s = n_s / (n_s + 8) keeps a table of thousands
from drowning a table of twenty, and one row from counting as a table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from planner.engine import constants as constants_module
from planner.engine.batch import Batch
from planner.engine.constants import Constants, constants
from planner.engine.step import step_seconds
from planner.fidelity.batches import case_batch, take
from planner.fidelity.case import Case

Array = np.ndarray[Any, np.dtype[Any]]
StepTotal = Callable[[Batch, Constants], Array]

PRIORS = Path(constants_module.__file__).parent / "data" / "priors.toml"
SCALE = 0.12  # log error from which a row counts linearly rather than squared
STRENGTH = 4.0  # of the priors
MOST_ROWS = 250  # of one source in a fit, taken evenly over the table
REACH = 2.0  # constants move at most by this factor's exponential from their prior


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What benchmarks say about a constant; `spread` is the deviation of its logarithm."""

    value: float
    spread: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Constants with the deviation of each one's logarithm."""

    constants: Constants
    deviations: dict[str, float]
    rows: int
    sources: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRows:
    """Cases with a step time, as arrays in one order."""

    cases: tuple[Case, ...]
    batch: Batch
    actual: Array  # s, (n,)
    groups: Array  # source for leaving one out, (n,) of str


@cache
def priors() -> dict[str, Prior]:
    """Every constant that is fitted, with its prior."""
    table = tomllib.loads(PRIORS.read_text(encoding="utf-8"))
    return {name: Prior(**row) for name, row in table.items()}


def time_rows(cases: Sequence[Case]) -> TimeRows:
    """The cases that state a step time."""
    timed = tuple(each for each in cases if each.actual_seconds is not None)
    return TimeRows(
        cases=timed,
        batch=case_batch(timed),
        actual=np.array([each.actual_seconds for each in timed], dtype=np.float64),
        groups=np.array([each.group for each in timed]),
    )


def prior_constants() -> Constants:
    """The constants before any published run was looked at."""
    return replace(constants(), **{name: row.value for name, row in priors().items()})


def step_total(batch: Batch, c: Constants) -> Array:
    """Seconds of a step, all parts."""
    return step_seconds(batch, c).total


def fit(
    rows: TimeRows,
    leave_out: Array | None = None,
    total: StepTotal = step_total,
    start: Constants | None = None,
) -> Fitted:
    """Constants fitted to every row but those that the mask `leave_out` (n,) marks.

    `total` says what of a step's parts a time holds; ablations leave parts out. The search starts
    at the priors, or at `start` where a solution is expected near it.
    """
    from scipy.optimize import least_squares

    chosen = _sample(rows, leave_out)
    problem = _Problem(rows=rows, chosen=chosen, total=total)
    first = np.zeros(len(priors())) if start is None else problem.logs(start)
    steps = np.full(len(first), 1e-4)
    found = least_squares(
        problem.residuals, first, bounds=(-REACH, REACH), diff_step=steps, max_nfev=25
    )
    deviations = _deviations(np.asarray(found.jac))
    return Fitted(
        constants=problem.constants(found.x),
        deviations=dict(zip(priors(), deviations.tolist(), strict=True)),
        rows=len(chosen),
        sources=len(set(rows.groups[chosen].tolist())),
    )


def predict(rows: TimeRows, c: Constants, index: Array | None = None) -> Array:
    """Predicted step times in seconds of all rows, or of those at `index`."""
    batch = rows.batch if index is None else take(rows.batch, index)
    return np.broadcast_to(step_seconds(batch, c).total, (batch.size,))


def _sample(rows: TimeRows, leave_out: Array | None) -> Array:
    """Row numbers to fit: of each source at most MOST_ROWS, evenly spaced."""
    kept = np.ones(len(rows.actual), dtype=bool) if leave_out is None else ~leave_out
    parts = []
    for group in sorted(set(rows.groups[kept].tolist())):
        index = np.flatnonzero((rows.groups == group) & kept)
        spaced = np.linspace(0, len(index) - 1, min(len(index), MOST_ROWS))
        parts.append(index[np.unique(spaced.round().astype(int))])
    return np.concatenate(parts)


class _Problem:
    """Residuals of a fit as a function of the constants' log ratios to their priors."""

    def __init__(self, *, rows: TimeRows, chosen: Array, total: StepTotal) -> None:
        self.total = total
        self.batch = take(rows.batch, chosen)
        self.log_actual = np.log(rows.actual[chosen])
        self.weights = np.sqrt(_weights(rows.groups[chosen]))
        self.base = prior_constants()
        self.spreads = np.array([row.spread for row in priors().values()])

    def constants(self, logs: Array) -> Constants:
        ratios = np.exp(logs)
        values = {
            name: row.value * float(ratio)
            for (name, row), ratio in zip(priors().items(), ratios, strict=True)
        }
        return replace(self.base, **values)

    def logs(self, c: Constants) -> Array:
        """The constants' log ratios to their priors, inside what the search may reach."""
        ratios = [getattr(c, name) / row.value for name, row in priors().items()]
        return np.clip(np.log(ratios), -0.99 * REACH, 0.99 * REACH)

    def residuals(self, logs: Array) -> Array:
        predicted = self.total(self.batch, self.constants(logs))
        error = (np.log(predicted) - self.log_actual) / SCALE
        robust = np.sign(error) * np.sqrt(2 * (np.sqrt(1 + error**2) - 1))
        prior = np.sqrt(STRENGTH) * logs / self.spreads
        return np.concatenate([3 * robust * self.weights, prior])


def _weights(groups: Array) -> Array:
    """Weight of each row: its source's weight shared among the source's rows."""
    names, inverse, counts = np.unique(groups, return_inverse=True, return_counts=True)
    assert len(names) == len(counts)
    result: Array = (1 / (counts + 8.0))[inverse]
    return result


def _deviations(jacobian: Array) -> Array:
    """Standard deviations of the log constants from the curvature at the optimum."""
    curvature = jacobian.T @ jacobian
    result: Array = np.sqrt(np.diag(np.linalg.pinv(curvature)))
    return result
