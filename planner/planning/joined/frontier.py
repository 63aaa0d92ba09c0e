"""Best loss against money or days on one machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.planning.joined.best import Best, best_of
from planner.planning.joined.paces import Budget, Paces


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """The best use of one budget."""

    seconds: float
    usd: float | None
    params: float
    tokens: float
    loss: float  # nats per token
    low: float  # 80 %
    high: float
    gain_next_doubling: float  # of the budget
    limit: str | None  # what cuts the optimum off


def joined_frontier(table: Paces, budgets: Sequence[Budget]) -> list[FrontierPoint]:
    """The best use of each budget, in the order given."""
    return [_point(best_of(table, budget)) for budget in budgets]


def _point(best: Best) -> FrontierPoint:
    return FrontierPoint(
        seconds=best.seconds,
        usd=best.usd,
        params=best.params,
        tokens=best.tokens,
        loss=best.loss,
        low=best.loss_low,
        high=best.loss_high,
        gain_next_doubling=best.gain_next_doubling,
        limit=best.limit,
    )
