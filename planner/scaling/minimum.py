"""The smallest value of a smooth function of one positive number, by zooming grids of its log."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planner.scaling.forms import FloatArray

GRID = 129  # points of each grid
ZOOMS = 7  # each shrinks the bracket 64 times: the last grid is 64^-6 as wide as the first


def minimise(
    function: Callable[[FloatArray], FloatArray], *, low: float, high: float
) -> tuple[float, float]:
    """(x, function(x)) at the minimum over low ≤ x ≤ high; `function` maps an array to an array.

    Points where it is nan count as infinitely bad. A function with several minima yields the one
    that the first grid sees lowest.

    >>> x, value = minimise(lambda x: (np.log(x) - 2) ** 2, low=1e-3, high=1e6)
    >>> round(x, 4)
    7.3891
    """
    left, right = np.log(low), np.log(high)
    for _ in range(ZOOMS):
        grid = np.linspace(left, right, GRID)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            values = function(np.exp(grid))
        values = np.where(np.isnan(values), np.inf, values)
        best = int(np.argmin(values))
        left, right = grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]
    return float(np.exp(grid[best])), float(values[best])
