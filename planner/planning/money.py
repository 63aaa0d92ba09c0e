"""What a run costs in money, energy and carbon."""

from __future__ import annotations

import hardware_db
from planner.engine.assumptions import assumed
from planner.engine.energy import average_watts, carbon_kg, energy_kwh
from planner.errors import PlannerError
from planner.planning.places import grid_of
from planner.planning.result import CostPart, EnergyPart, RunPart
from planner.planning.scenario import Scenario

HOUR = 3600.0  # s


def usd_of(device_hours: float, usd_per_device_hour: float) -> float:
    """What accelerators cost, US dollars.

    >>> usd_of(1845 + 3310, 0.5)
    2577.5
    """
    return device_hours * usd_per_device_hour


def price_within(usd: float, device_hours: float) -> float:
    """The highest price in USD per device-hour at which a run stays within `usd`.

    >>> round(price_within(1000, 8 * 85), 2)
    1.47
    """
    return usd / device_hours


def cost_of(each: Scenario, run: RunPart) -> CostPart:
    """Device-hours at a dated price. Unknown prices are None with the reason, never zero."""
    price, reason = _price(each)
    if price is None:
        return _unknown_cost(reason)
    hourly = price.usd_per_device_hour
    budget = each.run.budget.usd
    usd, low, high = (
        usd_of(seconds * each.num_devices / HOUR, hourly)
        for seconds in (run.seconds, run.low, run.high)
    )
    return CostPart(
        usd=usd,
        low=low,
        high=high,
        per_device_hour=hourly,
        provider=f"{price.provider_name} {price.instance_type} ({price.mode})",
        price_date=price.as_of,
        price_source=price.source,
        price_note=_price_note(price),
        within_budget=None if budget is None else usd <= budget,
        breakdown={"accelerators": usd},
        reason=None,
    )


def _unknown_cost(reason: str) -> CostPart:
    return CostPart(
        usd=None,
        low=None,
        high=None,
        per_device_hour=None,
        provider=None,
        price_date=None,
        price_source=None,
        price_note=None,
        within_budget=None,
        breakdown={},
        reason=reason,
    )


def dated(cost: CostPart) -> str:
    """The date of a price with what a reader must know of it."""
    note = cost.price_note or ""
    between = "" if not note else " " if note.startswith("or earlier") else "; "
    return f"{cost.price_date}{between}{note}"


def _price_note(price: hardware_db.Price) -> str | None:
    """What a reader must know before trusting the price."""
    notes = []
    if not price.includes_host:
        notes.append("without its host machine, which is billed apart")
    if price.confidence == "low":
        notes.append("of low confidence")
    if not price.as_of_exact:
        notes.append("or earlier: the catalogue does not date itself")
    if price.tier == "marketplace":
        notes.append("of a marketplace, whose prices move by the hour")
    return "; ".join(notes) or None


def _price(each: Scenario) -> tuple[hardware_db.Price | None, str]:
    wanted = each.run.price
    if wanted.mode == "reserved":
        return None, "no reserved prices are recorded: use on-demand or spot"
    if each.device is not None and not each.device.listed:
        return None, f"{each.accelerator.sku_id} is known by its profile alone: nobody rents it out"
    try:
        price = hardware_db.price_for(
            each.accelerator.sku_id,
            wanted.provider,
            wanted.region,
            wanted.mode,
            devices=min(each.num_devices, each.devices_per_node),
        )
    except hardware_db.HardwareError as error:
        raise PlannerError(f"price.{error.field}", error.value, error.remedy) from None
    where = f" at {wanted.provider}" if wanted.provider else ""
    where += f" in {wanted.region}" if wanted.region else ""
    return price, f"no {wanted.mode} price of {each.accelerator.sku_id} is known{where}"


def energy_of(each: Scenario, run: RunPart) -> EnergyPart:
    """Average power times device-seconds, at the building's meter; None where no power is known."""
    part, budget = each.accelerator, each.run.budget.kwh
    place, grams = grid_of(each.run.price)
    board = each.run.hardware.power_limit or part.tdp_watts
    pue = _pue(each)
    watts = None if board is None else average_watts(board, tpu=part.vendor == "google")
    kwh, low, high = (
        None
        if watts is None
        else energy_kwh(watts=watts, device_seconds=seconds * each.num_devices, pue=pue)
        for seconds in (run.seconds, run.low, run.high)
    )
    return EnergyPart(
        kwh=kwh,
        low=low,
        high=high,
        watts_per_device=watts,
        pue=pue,
        kgco2e=None if kwh is None else carbon_kg(kwh, grams),
        grid=place,
        grams_per_kwh=grams,
        within_budget=None if budget is None or kwh is None else kwh <= budget,
        reason=_energy_reason(part, watts),
    )


def _energy_reason(part: hardware_db.Accelerator, watts: float | None) -> str | None:
    if watts is not None:
        return None
    return f"the power of {part.sku_id} is not known: set hardware.power_limit (--power-limit)"


def _pue(each: Scenario) -> float:
    provider = each.run.price.provider
    known = hardware_db.pue(provider) if provider else None
    return known.value if known else assumed("pue")
