"""The curves behind an optimum: loss against size at one budget, best loss against budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.scaling.allocation import BAND, Conditions, FlopsAt, loss_at_sizes, optimum
from planner.scaling.forms import FloatArray
from planner.scaling.laws import Law, choose_law, positive

SIZES_EACH_WAY = 16.0  # the curve spans the optimum divided and multiplied by this


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePoint:
    """The whole budget spent on one size."""

    params: float
    tokens: float
    tokens_per_param: float
    loss: float  # nats per token
    in_band: bool  # within 0.5 % of the best loss


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPoint:
    """The best split of one budget."""

    flops: float
    params: float
    tokens: float
    loss: float  # nats per token
    low: float  # 80 %
    high: float
    gain_next_doubling: float  # share by which the best loss falls when the budget doubles


def size_curve(
    *,
    flops: float | None = None,
    flops_at: FlopsAt | None = None,
    law: str | Law | None = None,
    points: int = 13,
    conditions: Conditions | None = None,
) -> list[SizePoint]:
    """Loss against size around the optimum of one budget; sizes that buy nothing are left out.

    >>> curve = size_curve(flops=1e21, points=5)
    >>> curve[2].in_band, curve[0].in_band
    (True, False)
    """
    given = dict(conditions or {})
    chosen = choose_law(law, given)
    best = optimum(flops=flops, flops_at=flops_at, law=chosen, conditions=given)
    assert best.loss is not None
    spend = flops_at or (lambda sizes: np.full_like(sizes, best.flops))
    sizes = best.params * np.geomspace(1 / SIZES_EACH_WAY, SIZES_EACH_WAY, points)
    losses, bought = loss_at_sizes(chosen, sizes, spend, **given), spend(sizes)
    return [
        SizePoint(
            params=float(size),
            tokens=float(compute / 6 / size),
            tokens_per_param=float(compute / 6 / size**2),
            loss=float(loss),
            in_band=bool(loss <= best.loss * (1 + BAND)),
        )
        for size, loss, compute in zip(sizes, losses, bought, strict=True)
        if np.isfinite(loss)
    ]


def frontier(
    *,
    flops: Sequence[float] | FloatArray,
    law: str | Law | None = None,
    conditions: Conditions | None = None,
) -> list[BudgetPoint]:
    """The best split of each budget and what doubling it would gain.

    >>> small, large = frontier(flops=[1e20, 1e22])
    >>> large.loss < small.loss and large.gain_next_doubling < small.gain_next_doubling
    True
    """
    given = dict(conditions or {})
    chosen = choose_law(law, given)
    return [_point(float(positive("flops", budget)), chosen, given) for budget in flops]


def _point(flops: float, law: Law, conditions: Conditions) -> BudgetPoint:
    best = optimum(flops=flops, law=law, conditions=conditions)
    doubled = optimum(flops=2 * flops, law=law, conditions=conditions)
    assert best.loss is not None
    assert best.loss_low is not None
    assert best.loss_high is not None
    assert doubled.loss is not None
    return BudgetPoint(
        flops=flops,
        params=best.params,
        tokens=best.tokens,
        loss=best.loss,
        low=best.loss_low,
        high=best.loss_high,
        gain_next_doubling=1 - doubled.loss / best.loss,
    )
