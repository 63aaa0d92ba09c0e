"""What a comparison ranks by where the user does not say: it is part of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.run import Budget
from planner.search.points import Aim, Point, best

REASONS = {
    "same-number": "all have the same number of devices",
    "owned": "they are owned, and their number is open: 1 % of time counts as 1 % of energy",
    "deadline": "the run has a deadline and no budget; of costs within 1 % the faster",
    "budget": "the run has a budget and no deadline; of times within 1 % the cheaper",
    "open": "the number of devices is open: 1 % of time counts as 1 % of money",
}


ALIKE = 0.01  # share of time or cost under which nobody would choose by it
_OTHER = {"cost": "time", "time": "cost"}  # what decides between what is alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An aim and, where nobody asked for it, why it was taken: a key of REASONS."""

    aim: Aim
    why: str | None = None

    @property
    def reason(self) -> str | None:
        """Why, in words."""
        return None if self.why is None else REASONS[self.why]

    def best(self, found: Sequence[Point], budget: Budget) -> Point | None:
        """The best of those that fit and keep the limits.

        An aim that was asked for is followed to the cent. A deadline or a budget alone leaves
        room for sense: sixteen times the devices at the same cost are taken.
        """
        first = best(found, self.aim, budget)
        if first is None or self.why not in ("deadline", "budget"):
            return first
        most = self.aim.score(first) * (1 + ALIKE)
        alike = [each for each in found if each.sure >= first.sure and self.aim.score(each) <= most]
        return best(alike, Aim(by=_OTHER[self.aim.by]), budget)


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
        return Choice(aim=Aim(by="time"), why="same-number")
    if owned:
        return Choice(aim=Aim(by="value", weights={"time": 1.0, "energy": 1.0}), why="owned")
    if budget.days is not None and budget.usd is None:
        return Choice(aim=Aim(by="cost"), why="deadline")
    if budget.usd is not None and budget.days is None:
        return Choice(aim=Aim(by="time"), why="budget")
    return Choice(aim=Aim(by="value"), why="open")
