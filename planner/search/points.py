"""The best candidates of all pools with what they cost: the front, the limits, the choice."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.errors import PlannerError
from planner.run import Budget
from planner.search.group import PoolKey
from planner.search.keeper import Keeper, Kept
from planner.search.space import Space

DAY = 86_400.0  # s
OBJECTIVES = ("time", "cost", "energy", "value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One candidate on one machine at one price. None is unknown."""

    pool: PoolKey
    mode: str  # of the price
    group: int
    index: int
    seconds: float
    usd: float | None
    kwh: float | None
    ratio: float  # predicted peak over capacity
    fits: bool  # by the best estimate
    sure: bool  # with 90 % probability

    @property
    def objectives(self) -> tuple[float, float, float]:
        """Time, cost and energy; unknown as infinite, so that it never beats what is known."""
        return self.seconds, _known(self.usd), _known(self.kwh)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What the best is best at."""

    by: str = "time"
    weights: Mapping[str, float] = field(default_factory=lambda: {"time": 1.0, "cost": 1.0})

    def __post_init__(self) -> None:
        if self.by not in OBJECTIVES:
            raise PlannerError("--by", self.by, f"known are {', '.join(OBJECTIVES)}")
        if not any(self.weights.values()) or min(self.weights.values()) < 0:
            raise PlannerError("--weights", dict(self.weights), "give weights of 0 and more")

    def score(self, point: Point) -> float:
        """Lower is better. Value weighs logarithms: 1 % of time counts as 1 % of money."""
        seconds, usd, kwh = point.objectives
        if self.by != "value":
            return {"time": seconds, "cost": usd, "energy": kwh}[self.by]
        terms = {"time": seconds, "cost": usd, "energy": kwh}
        return sum(
            weight * math.log(max(terms[name], 1e-300))
            for name, weight in self.weights.items()
            if weight
        )


def points(
    space: Space, keepers: Mapping[PoolKey, Keeper], pick: Callable[[Keeper], Kept] | None = None
) -> list[Point]:
    """The best candidate of every pool at every price; `pick` takes another list of a keeper."""
    found = []
    for pool, keeper in keepers.items():
        kept = keeper.best if pick is None else pick(keeper)
        for row in range(kept.size):
            found += points_of(space, pool, kept, row)
    return found


def points_of(space: Space, pool: PoolKey, kept: Kept, row: int) -> list[Point]:
    """One candidate at every price."""
    number, seconds = int(kept.group[row]), float(kept.seconds[row])
    group, ratio = space.groups[number], float(kept.ratio[row])
    return [
        Point(
            pool=pool,
            mode=offer.mode,
            group=number,
            index=int(kept.index[row]),
            seconds=seconds,
            usd=None if offer.usd_per_second is None else seconds * offer.usd_per_second,
            kwh=None if group.kwh_per_second is None else seconds * group.kwh_per_second,
            ratio=ratio,
            fits=ratio <= 1.0,
            sure=ratio <= float(kept.surety[row]),
        )
        for offer in group.offers
    ]


def front(found: Sequence[Point]) -> list[Point]:
    """The points that no other beats in time, cost and energy at once, fastest first.

    A point that only probably fits is beaten by no less than the same of the sure ones.
    """
    ordered = sorted(found, key=lambda each: (each.objectives, not each.sure))
    kept: list[Point] = []
    for each in ordered:
        if not any(_beats(other, each) for other in kept):
            kept.append(each)
    return kept


def _beats(one: Point, other: Point) -> bool:
    return all(a <= b for a, b in zip(one.objectives, other.objectives, strict=True))


def excess(point: Point, budget: Budget) -> float:
    """How far a point is from the limits: the sum of the logarithms of needed over allowed."""
    return sum(math.log(needed / allowed) for _, allowed, needed in broken(point, budget))


def broken(point: Point, budget: Budget) -> list[tuple[str, float, float]]:
    """(limit, allowed, needed) of each limit that a point breaks, in the run file's units."""
    rows = (
        ("budget.usd", budget.usd, point.usd),
        ("budget.days", budget.days, point.seconds / DAY),
        ("budget.kwh", budget.kwh, point.kwh),
    )
    return [
        (name, allowed, needed)
        for name, allowed, needed in rows
        if allowed is not None and needed is not None and needed > allowed
    ]


def keeps(point: Point, budget: Budget) -> bool:
    """Whether a point surely keeps every limit; one that cannot be checked is not kept."""
    unknown = (budget.usd is not None and point.usd is None) or (
        budget.kwh is not None and point.kwh is None
    )
    return not unknown and not broken(point, budget)


def best(found: Sequence[Point], aim: Aim, budget: Budget) -> Point | None:
    """The best of those that fit and keep the limits, sure ones before probable ones."""
    allowed = [each for each in found if each.fits and keeps(each, budget)]
    allowed = [each for each in allowed if each.sure] or allowed
    return min(allowed, key=lambda each: _order(each, aim), default=None)


def nearest(found: Sequence[Point], budget: Budget) -> Point | None:
    """The point nearest to an answer: of those that fit the one that breaks limits least."""
    fitting = [each for each in found if each.fits]
    if fitting:
        return min(fitting, key=lambda each: (excess(each, budget), not each.sure, each.seconds))
    return min(found, key=lambda each: each.ratio, default=None)


def _order(point: Point, aim: Aim) -> tuple[float, ...]:
    return (aim.score(point), *point.objectives, float(point.pool.count))


def _known(value: float | None) -> float:
    return math.inf if value is None else value
