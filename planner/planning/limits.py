"""The limits that a run must keep: which are broken, by how much, and which to relax."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.planning.money import price_within
from planner.planning.variants import Variant, together, tried

if TYPE_CHECKING:
    from planner.planning.outline import Outline

DAY = 86_400.0  # s
COUNT_FACTORS = (1 / 8, 1 / 4, 1 / 2, 2, 4, 8, 16)  # other numbers of accelerators that are tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A limit that the plan breaks. `allowed` and `needed` in the unit of the run file's key."""

    limit: str  # budget.usd | budget.days | budget.kwh
    allowed: float
    needed: float
    unit: str  # USD | days | kWh

    @property
    def factor(self) -> float:
        """How often the limit would have to be taken."""
        return self.needed / self.allowed


def violations_of(bones: Outline) -> list[Violation]:
    """Every limit of the run that the best estimate breaks, the most broken first."""
    budget = bones.scenario.run.budget
    days = bones.run.seconds / DAY
    rows = [
        ("budget.usd", budget.usd, bones.cost.usd, "USD"),
        ("budget.days", budget.days, days, "days"),
        ("budget.kwh", budget.kwh, bones.energy.kwh, "kWh"),
    ]
    found = [
        Violation(limit=name, allowed=allowed, needed=needed, unit=unit)
        for name, allowed, needed, unit in rows
        if allowed is not None and needed is not None and needed > allowed
    ]
    return sorted(found, key=lambda each: -each.factor)


def unchecked(bones: Outline) -> list[str]:
    """Limits that cannot be checked for want of a price or a power."""
    budget, found = bones.scenario.run.budget, []
    if budget.usd is not None and bones.cost.usd is None:
        found.append(f"budget.usd is not checked: {bones.cost.reason}")
    if budget.kwh is not None and bones.energy.kwh is None:
        found.append(f"budget.kwh is not checked: {bones.energy.reason}")
    return found


def excess(bones: Outline) -> float:
    """How far a plan is from keeping every limit: the sum of the logarithms of the factors."""
    return sum(math.log(each.factor) for each in violations_of(bones))


def highest_price(bones: Outline) -> float | None:
    """USD per device-hour up to which the run stays within its budget; None without a budget."""
    usd = bones.scenario.run.budget.usd
    return None if usd is None else price_within(usd, bones.run.device_hours)


def relaxations(bones: Outline, least: Outline) -> list[dict[str, Any]]:
    """For each limit that the least violating plan breaks, what it would have to be.

    `alone` says that relaxing this one limit is enough: nothing else is then broken.
    """
    broken = violations_of(least)
    return [
        {
            "limit": each.limit,
            "from": each.allowed,
            "to": each.needed,
            "unit": each.unit,
            "factor": each.factor,
            "alone": len(broken) == 1,
        }
        for each in sorted(broken, key=lambda each: each.factor)
    ]


def least_violating(bones: Outline) -> tuple[Outline, Variant | None]:
    """The plan nearest to keeping all limits among other numbers of accelerators and spot prices.

    None for the variant where the run as it stands is the nearest.
    """
    best: tuple[float, Outline, Variant | None] = (excess(bones), bones, None)
    for variant in _variants(bones):
        other = tried(bones.scenario, variant)
        if other is not None and other.fits and excess(other) < best[0] * 0.99:
            best = (excess(other), other, variant)
    return best[1], best[2]


def _variants(bones: Outline) -> list[Variant]:
    count = bones.scenario.num_devices
    counts = [round(count * factor) for factor in COUNT_FACTORS if count * factor >= 1]
    found = [devices(bones, other) for other in dict.fromkeys(counts)]
    if bones.scenario.run.price.mode != "spot":
        spot = Variant(kind="price", words="spot price", changes={"price.mode": "spot"})
        found += [spot, *(together([each, spot]) for each in found)]
    return found


def devices(bones: Outline, count: int) -> Variant:
    """The same run on `count` accelerators; what the run states of the layout stays."""
    changes: dict[str, object] = {"hardware.count": count}
    layout = bones.scenario.run.training.layout
    if layout and layout.dp:
        changes["training.layout.dp"] = "auto"
    if bones.scenario.run.training.accumulation:
        changes["training.accumulation"] = "auto"
        changes["training.global_batch"] = bones.configuration.global_batch
    if bones.scenario.run.training.global_batch is None:
        changes["training.global_batch"] = bones.configuration.global_batch
    per_node = bones.scenario.run.hardware.per_node
    if per_node and count % min(per_node, count):
        changes["hardware.per_node"] = None
    return Variant(kind="devices", words=f"{count:,} x {bones.configuration.sku}", changes=changes)
