"""How wide intervals must be to hold on a source that was not seen.

Residuals inside one source are not exchangeable with a new source's, so the quantile is taken over
sources: the base width is the one at which the mean over sources of the share of covered rows is
80 %. A doubt widens the rows that it applies to, by the ratio of its rows' typical error to the
others'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from planner.fidelity.scores import FEWEST_ROWS
from planner.planning.intervals import Z80

Array = np.ndarray[Any, np.dtype[Any]]

MOST = 0.6  # largest deviation that one doubt may add
FEWEST_DOUBTED = 8  # rows from which a doubt's width is measured
LEVEL = 0.8


def fit_spreads(
    logs: Array, doubts: Sequence[tuple[str, ...]], groups: Array, assumed: dict[str, float]
) -> dict[str, float]:
    """Base deviation and what each doubt adds, from log(predicted / actual) of left-out rows.

    `assumed` holds what a doubt adds at least, whatever few rows seem to show.
    """
    names = sorted({name for row in doubts for name in row} | set(assumed))
    weights = _source_weights(groups)
    base = _typical(logs, weights, np.array([not row for row in doubts]))
    added = {name: assumed.get(name, 0.0) for name in names}
    for name in names:
        alone = np.array([row == (name,) for row in doubts])
        if alone.sum() >= FEWEST_DOUBTED:
            spread = _typical(logs, weights, alone)
            measured = float(np.sqrt(np.clip(spread**2 - base**2, 0.0, MOST**2)))
            added[name] = max(added[name], measured)
    scale = _scale(logs, sigmas(doubts, {"base": base, **added}), groups)
    return {name: round(value * scale, 4) for name, value in {"base": base, **added}.items()}


def left_out_sigmas(
    logs: Array, doubts: Sequence[tuple[str, ...]], groups: Array, assumed: dict[str, float]
) -> Array:
    """Deviation of each row's log(predicted / actual), from the other sources' rows only.

    A row without a measurement (NaN) gets a width and has no part in others'.
    """
    widths = np.empty(len(logs))
    known = ~np.isnan(logs)
    for name in sorted(set(groups.tolist())):
        mine = groups == name
        others = np.flatnonzero(~mine & known).tolist()
        spreads = fit_spreads(
            logs[others], [doubts[index] for index in others], groups[others], assumed
        )
        widths[mine] = sigmas([doubts[index] for index in np.flatnonzero(mine).tolist()], spreads)
    return widths


def sigmas(doubts: Sequence[tuple[str, ...]], table: dict[str, float]) -> Array:
    """Deviation of the log of each row: the base and its doubts, added in squares."""
    return np.sqrt(
        [table["base"] ** 2 + sum(table.get(name, 0.0) ** 2 for name in row) for row in doubts]
    )


def _source_weights(groups: Array) -> Array:
    """Each source counts the same, small ones less."""
    _, inverse, counts = np.unique(groups, return_inverse=True, return_counts=True)
    result: Array = (1 / (counts + FEWEST_ROWS))[inverse]
    return result


def _typical(logs: Array, weights: Array, chosen: Array) -> float:
    """Deviation that a normal with the same weighted 80 % half-width would have."""
    if not np.any(chosen):
        return 0.1
    sizes, parts = np.abs(logs[chosen]), weights[chosen]
    order = np.argsort(sizes)
    share = np.cumsum(parts[order]) / np.sum(parts)
    return float(sizes[order][np.searchsorted(share, LEVEL)]) / Z80


def _scale(logs: Array, widths: Array, groups: Array) -> float:
    """Factor at which the mean over sources of the covered share is LEVEL."""
    ratios = np.abs(logs) / (widths * Z80)
    names = [name for name in sorted(set(groups.tolist())) if np.sum(groups == name) >= FEWEST_ROWS]
    low, high = 0.1, 10.0
    for _ in range(60):
        middle = np.sqrt(low * high)
        covered = np.mean([np.mean(ratios[groups == name] <= middle) for name in names])
        low, high = (middle, high) if covered < LEVEL else (low, middle)
    return float(high)
