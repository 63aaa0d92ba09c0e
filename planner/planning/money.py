"""What a run costs in money, energy and carbon."""

from __future__ import annotations

import hardware_db
from planner.engine.assumptions import assumed
from planner.engine.energy import average_watts, carbon_kg, energy_kwh
from planner.errors import PlannerError
from planner.planning.result import CostPart, EnergyPart, RunPart
from planner.planning.scenario import Scenario

HOUR = 3600.0  # s


def cost_of(each: Scenario, run: RunPart) -> CostPart:
    """Device-hours at a dated price. Unknown prices are None with the reason, never zero."""
    price, reason = _price(each)
    if price is None:
        return _unknown_cost(reason)
    hourly = price.usd_per_device_hour
    scale = each.num_devices / HOUR * hourly
    budget = each.run.budget.usd
    usd = run.seconds * scale
    return CostPart(
        usd=usd,
        low=run.low * scale,
        high=run.high * scale,
        per_device_hour=hourly,
        provider=f"{price.provider_name} {price.instance_type} ({price.mode})",
        price_date=price.as_of,
        price_source=price.source,
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
        within_budget=None,
        breakdown={},
        reason=reason,
    )


def _price(each: Scenario) -> tuple[hardware_db.Price | None, str]:
    wanted = each.run.price
    if wanted.mode == "reserved":
        return None, "no reserved prices are recorded: use on-demand or spot"
    try:
        price = hardware_db.price_for(
            each.accelerator.sku_id,
            wanted.provider,
            wanted.region,
            wanted.mode,
            devices=each.devices_per_node,
        )
    except hardware_db.HardwareError as error:
        raise PlannerError(f"price.{error.field}", error.value, error.remedy) from None
    where = f" at {wanted.provider}" if wanted.provider else ""
    return price, f"no {wanted.mode} price of {each.accelerator.sku_id} is known{where}"


def energy_of(each: Scenario, run: RunPart) -> EnergyPart:
    """Average power times device-seconds, at the building's meter."""
    part = each.accelerator
    place, grams = _grid(each)
    board = each.run.hardware.power_limit or part.tdp_watts
    pue = _pue(each)
    if board is None:
        reason = f"the power of {part.sku_id} is not known: set hardware.power_limit"
        return EnergyPart(
            kwh=None,
            low=None,
            high=None,
            watts_per_device=None,
            pue=pue,
            kgco2e=None,
            grid=place,
            grams_per_kwh=grams,
            reason=reason,
        )
    watts = average_watts(board, tpu=part.vendor == "google")
    kwh, low, high = (
        energy_kwh(watts=watts, device_seconds=seconds * each.num_devices, pue=pue)
        for seconds in (run.seconds, run.low, run.high)
    )
    return EnergyPart(
        kwh=kwh,
        low=low,
        high=high,
        watts_per_device=watts,
        pue=pue,
        kgco2e=None if grams is None else carbon_kg(kwh, grams),
        grid=place,
        grams_per_kwh=grams,
        reason=None if grams is not None else "say price.region to have the grid's carbon",
    )


def _pue(each: Scenario) -> float:
    provider = each.run.price.provider
    known = hardware_db.pue(provider) if provider else None
    return known.value if known else assumed("pue")


def _grid(each: Scenario) -> tuple[str | None, float | None]:
    """The grid of the stated region; the world's mean where none is stated or known."""
    region, provider = each.run.price.region, each.run.price.provider
    for place in (f"{provider}/{region}", region):
        if region is None or place is None:
            continue
        try:
            found = hardware_db.grid(place)
        except hardware_db.HardwareError:
            continue
        return found.name, found.kg_per_kwh * 1000
    world = hardware_db.grid("WORLD")
    return f"{world.name} (no region said)", world.kg_per_kwh * 1000
