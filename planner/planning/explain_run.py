"""Run length, cost and energy with their numbers put in."""

from __future__ import annotations

from collections.abc import Iterator

from planner.engine.assumptions import assumptions
from planner.planning.outline import Outline
from planner.quantities import (
    show_carbon,
    show_count,
    show_duration,
    show_energy,
    show_usd,
    show_whole,
)

_OVERHEADS = (
    "failures_per_device_day",
    "restart_seconds",
    "startup_seconds",
    "storage_bytes_per_second_per_node",
)


def run_lines(bones: Outline) -> Iterator[str]:
    """Steps from tokens, training time from steps, and the overheads with what they assume."""
    run, made = bones.run, bones.configuration
    unit = "samples" if run.tokens is None else "sequences"
    amount = show_count(run.samples, unit) if run.tokens is None else _tokens(run.tokens)
    yield (f"{amount} at {made.global_batch:,} {unit} a step: {show_whole(run.steps, 'steps')}")
    yield (
        f"{run.steps:,} x {show_duration(bones.step.seconds)} = "
        f"{show_duration(run.parts['training'])} of training"
    )
    for name in ("evaluation", "checkpoints", "startup", "failures"):
        if run.parts[name]:
            yield f"{name}: {show_duration(run.parts[name])}"
    for name in _OVERHEADS:
        each = assumptions()[name]
        span = f"{each.value:g} ({each.low:g} to {each.high:g}) {each.unit}"
        yield f"assumed {name.replace('_', ' ')} = {span}: {each.source}"
    yield (
        f"sum {show_duration(run.seconds)} x {made.num_devices:,} accelerators = "
        f"{show_count(run.device_hours)} device-hours"
    )


def _tokens(tokens: int) -> str:
    return show_count(tokens, "tokens")


def cost_lines(bones: Outline) -> Iterator[str]:
    """Device-hours at a dated price."""
    cost = bones.cost
    if cost.usd is None:
        yield f"unknown: {cost.reason}"
        return
    yield (
        f"{show_count(bones.run.device_hours)} device-hours x "
        f"{show_usd(cost.per_device_hour)} = {show_usd(cost.usd)}"
    )
    yield f"price: {cost.provider}, {cost.price_date}, {cost.price_source}"


def energy_lines(bones: Outline) -> Iterator[str]:
    """Average power times device-seconds times the building's overhead."""
    energy, table = bones.energy, assumptions()
    if energy.kwh is None:
        yield f"unknown: {energy.reason}"
        return
    yield (
        f"{energy.watts_per_device:,.0f} W a device with its share of the server (board power x "
        f"server ratio x average load: {table['server_power_ratio'].source})"
    )
    yield (
        f"{energy.watts_per_device:,.0f} W x {show_count(bones.run.device_hours)} device-hours x "
        f"PUE {energy.pue:g} = {show_energy(energy.kwh)}"
    )
    if energy.kgco2e is not None:
        yield (
            f"{show_energy(energy.kwh)} x {energy.grams_per_kwh:.0f} g/kWh ({energy.grid}) = "
            f"{show_carbon(energy.kgco2e)}"
        )
