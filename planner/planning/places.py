"""The grid that a run draws on. A region that no table knows is refused, never averaged over."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import hardware_db
from planner.errors import PlannerError

if TYPE_CHECKING:
    from planner.run import Price

GRAMS = 1000  # a kilogram


def grid_of(price: Price) -> tuple[str, float]:
    """Name of the grid of `price.region`, and its grams of CO2e per kWh.

    The world's mean stands for a region that is not said, shared by several providers, or known
    by its prices alone; the name then says which. Raises PlannerError for any other region.
    """
    region = price.region
    if region is None:
        return _world("no region said")
    try:
        return _named(price.provider, region)
    except hardware_db.AmbiguousName:
        return _world(f"{region} is several places: say price.provider")
    except hardware_db.UnknownName as error:
        if region.strip().lower() in _priced():
            return _world(f"the grid of {region} is not known")
        raise PlannerError("price.region", region, error.remedy) from None


def _named(provider: str | None, region: str) -> tuple[str, float]:
    if provider is not None:
        try:
            return _shown(hardware_db.grid(f"{provider}/{region}"))
        except hardware_db.HardwareError:
            pass  # a country or a state, as any provider may say it
    return _shown(hardware_db.grid(region))


def _shown(found: hardware_db.Grid) -> tuple[str, float]:
    return found.name, found.kg_per_kwh * GRAMS


def _world(why: str) -> tuple[str, float]:
    name, grams = _shown(hardware_db.grid("WORLD"))
    return f"{name} ({why})", grams


@cache
def _priced() -> frozenset[str]:
    """Regions that some price names."""
    return frozenset(price.region.lower() for price in hardware_db.prices())
