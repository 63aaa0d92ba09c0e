"""A budget spent on one size: tokens, loss and how sure both are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from planner.planning.intervals import Z80
from planner.planning.joined.pace import Pace
from planner.scaling.laws import Law
from planner.scaling.reach import log_deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The whole budget spent on one size. `low` and `high` bound 80 %; None where it does not fit
    or the budget buys nothing."""

    pace: Pace
    tokens: float | None
    tokens_low: float | None  # by the doubt about the speed alone
    tokens_high: float | None
    loss: float | None  # nats per token
    low: float | None
    high: float | None
    in_band: bool  # within 0.5 % of the best loss


def spent_on(
    pace: Pace, seconds: float, law: Law, conditions: Mapping[str, float], *, limit: float
) -> Spent:
    """`seconds` of the machine spent on one size; `limit` is the loss that ends the band."""
    tokens = pace.tokens_in(seconds) if pace.fits else 0.0
    if tokens <= 0:
        return Spent(
            pace=pace,
            tokens=None,
            tokens_low=None,
            tokens_high=None,
            loss=None,
            low=None,
            high=None,
            in_band=False,
        )
    loss = float(law.loss(pace.params, tokens, **conditions))
    low, high = loss_interval(law, pace.params, tokens, pace.time_sigma, conditions)
    fewest, most = tokens_interval(tokens, pace.time_sigma)
    return Spent(
        pace=pace,
        tokens=tokens,
        tokens_low=fewest,
        tokens_high=most,
        loss=loss,
        low=low,
        high=high,
        in_band=loss <= limit,
    )


def tokens_interval(tokens: float, time_sigma: float) -> tuple[float, float]:
    """Bounds of 80 % of the tokens that a fixed time buys.

    >>> [round(bound, 2) for bound in tokens_interval(1.0, 0.2)]
    [0.77, 1.29]
    """
    factor = math.exp(Z80 * time_sigma)
    return tokens / factor, tokens * factor


def loss_interval(
    law: Law, params: float, tokens: float, time_sigma: float, conditions: Mapping[str, float]
) -> tuple[float, float]:
    """Bounds of 80 % of the loss: the doubts about the law and about the speed, which decides how
    many tokens the budget buys, are independent and add in squares on the log of the loss."""
    loss = float(law.loss(params, tokens, **conditions))
    fewer, more = tokens * math.exp(-time_sigma), tokens * math.exp(time_sigma)
    worse, better = (float(law.loss(params, each, **conditions)) for each in (fewer, more))
    of_speed = math.log(worse / better) / 2
    sigma = math.hypot(log_deviation(law, params, tokens, **conditions), of_speed)
    return loss * math.exp(-Z80 * sigma), loss * math.exp(Z80 * sigma)
