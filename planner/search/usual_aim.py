"""What a comparison ranks by where the user does not say: it is part of the answer."""

from __future__ import annotations

from dataclasses import dataclass

from planner.run import Budget
from planner.search.points import Aim


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An aim and, where nobody asked for it, why it was taken."""

    aim: Aim
    reason: str | None = None


def usual_aim(budget: Budget, *, num_counts: int, owned: bool = False) -> Choice:
    """The aim of a comparison that names none.

    With one number of devices that all have, the fastest. Where the number is open the fastest
    would always be the most devices, however little the last ones bring, so a deadline alone asks
    for the cheapest, a budget alone for the fastest, and neither or both for time and money
    together: twice the devices are worthwhile while they save more than 29 % of the time.

    >>> usual_aim(Budget(), num_counts=1).aim.by, usual_aim(Budget(), num_counts=4).aim.by
    ('time', 'value')
    >>> usual_aim(Budget(days=45), num_counts=4).aim.by
    'cost'
    """
    if num_counts == 1:
        return Choice(aim=Aim(by="time"), reason="all have the same number of devices")
    if owned:
        weights = {"time": 1.0, "energy": 1.0}
        reason = "they are owned, and their number is open: 1 % of time counts as 1 % of energy"
        return Choice(aim=Aim(by="value", weights=weights), reason=reason)
    if budget.days is not None and budget.usd is None:
        return Choice(aim=Aim(by="cost"), reason="the run has a deadline and no budget")
    if budget.usd is not None and budget.days is None:
        return Choice(aim=Aim(by="time"), reason="the run has a budget and no deadline")
    reason = "the number of devices is open: 1 % of time counts as 1 % of money"
    return Choice(aim=Aim(by="value"), reason=reason)
