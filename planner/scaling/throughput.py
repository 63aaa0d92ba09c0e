"""What a budget of days or dollars buys at each model size, from a table of sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.errors import PlannerError
from planner.scaling.allocation import FlopsAt
from planner.scaling.forms import FloatArray


def bought(
    params: Sequence[float] | FloatArray,
    flops_per_unit: Sequence[float | None] | FloatArray,
    *,
    budget: float,
) -> FlopsAt:
    """FLOP that `budget` buys at any size, straight in log-log between the sizes of a table.

    `flops_per_unit` is training FLOP per second, day or dollar at each size of `params`, None or 0
    where it does not fit; `budget` is in the same unit. Sizes outside the table and between a size
    that fits and one that does not buy nothing. Raises PlannerError when fewer than two fit.

    >>> buy = bought([1e9, 1e10], [4e14, 5e14], budget=86_400.0)
    >>> f"{float(buy(np.array(1e9))):.4g}"
    '3.456e+19'
    """
    order = np.argsort(np.asarray(params, dtype=np.float64))
    sizes = np.log(np.asarray(params, dtype=np.float64)[order])
    rates = np.array([rate or np.nan for rate in flops_per_unit], dtype=np.float64)[order]
    if len(sizes) != len(rates) or np.count_nonzero(np.isfinite(rates) & (rates > 0)) < 2:
        raise PlannerError("params", len(sizes), "at least two sizes must fit")
    if not budget > 0:
        raise PlannerError("budget", budget, "must be a positive number")
    with np.errstate(invalid="ignore"):
        log_rates = np.log(rates)

    def flops_at(asked: FloatArray) -> FloatArray:
        return budget * np.exp(np.interp(np.log(asked), sizes, log_rates, np.nan, np.nan))

    return flops_at
