"""The answer of `forerun plan` in a few lines: fit, time, cost, energy, loss, limits, shortfall."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from planner.cli.bars import line, paint
from planner.planning.money import dated
from planner.quantities import (
    show_bytes,
    show_carbon,
    show_count,
    show_duration,
    show_energy,
    show_interval,
    show_usd,
    show_whole,
)

if TYPE_CHECKING:
    from planner.planning.result import Plan

_VERDICTS = {
    "fits": ("FITS", "green"),
    "uncertain": ("MAY NOT FIT", "yellow"),
    "does-not": ("DOES NOT FIT", "red"),
}


def headline(plan: Plan) -> Iterator[str]:
    """Does it fit, how long, what cost, how good."""
    word, colour = _VERDICTS[plan.verdict]
    chosen, run, energy = plan.chosen, plan.run, plan.energy
    yield paint(f"{plan.model.name} on {chosen['count']:,} x {chosen['sku']}", "bold")
    peak = show_interval(show_bytes, plan.memory.peak_bytes, plan.memory.low, plan.memory.high)
    capacity = show_bytes(plan.memory.capacity_bytes)
    chance = f"{word}, probability {_probability(plan.fit_probability)}"
    fit = line("memory", f"{peak} of {capacity}: {chance}")
    yield fit.replace(word, paint(word, colour))  # after wrapping, which counts characters
    took = show_interval(show_duration, run.seconds, run.low, run.high)
    yield line(
        "time", f"{took}: {show_whole(run.steps, 'steps')} of {show_duration(plan.step.seconds)}"
    )
    yield line("cost", _cost(plan))
    if energy.kwh is None:
        yield line("energy", f"unknown: {energy.reason}")
    else:
        kwh = show_interval(show_energy, energy.kwh, energy.low, energy.high)
        yield line("energy", f"{kwh}, {show_carbon(energy.kgco2e)}; grid: {energy.grid}")
    yield line("loss", _loss(plan))


def _probability(value: float) -> str:
    """Whole per cents, never a certainty."""
    if value < 0.01 or value > 0.99:
        return "below 1 %" if value < 0.5 else "above 99 %"
    return f"{100 * value:.0f} %"


def _cost(plan: Plan) -> str:
    cost = plan.cost
    if cost.usd is None:
        return f"unknown: {cost.reason}"
    total = show_interval(show_usd, cost.usd, cost.low, cost.high)
    hourly = show_usd(cost.per_device_hour)
    return f"{total} at {hourly} per device-hour, {cost.provider}, {dated(cost)}"


def _loss(plan: Plan) -> str:
    loss = plan.loss
    if loss.value is None:
        return f"unknown: {loss.reason}"
    value = f"{loss.value:.2f} ({loss.low:.2f} to {loss.high:.2f}) nats/token by {loss.law}"
    best = loss.optimum
    if best is None:
        return value
    split = f"{show_count(best['params'])} parameters on {show_count(best['tokens'])} tokens"
    return f"{value}; this compute serves {split} best ({best['loss']:.2f})"


def limits(plan: Plan) -> Iterator[str]:
    """Which limits of the run are kept."""
    kept = {
        "deadline": plan.run.finish_by_deadline,
        "budget": plan.cost.within_budget,
        "energy budget": plan.energy.within_budget,
    }
    for name, held in kept.items():
        if held is not None:
            yield line(name, paint("kept", "green") if held else paint("BROKEN", "red"), column=15)


def shortfall(plan: Plan) -> Iterator[str]:
    """What is short, the nearest changes that fit, and the limits to relax."""
    short = plan.shortfall
    if short is None:
        return
    if short["bytes"] is not None:
        where = "on each device" if short["what"] == "memory" else "of the host, a node"
        yield paint(f"Short of memory by {show_bytes(short['bytes'])} {where}", "red")
    for broken in short["violated"]:
        amounts = f"{_amount(broken, 'needed')}, {_amount(broken, 'allowed')} allowed"
        yield line(broken["limit"], f"{amounts} ({broken['factor']:,.3g} times)", column=12)
    nearest = short["nearest"]
    if nearest:
        label = "nearest that fits" if short["bytes"] is not None else "nearest to the limits"
        yield from _change(label, nearest)
    elif short["bytes"] is not None:
        yield line("nearest", "no change that was tried fits", column=9)
    for other in short["alternatives"]:
        yield from _change("or", other)
    yield from _relax(short["relax"])


def _relax(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        enough = "that alone is enough" if row["alone"] else "not enough alone"
        step = f"{row['limit']} from {_amount(row, 'from')} to {_amount(row, 'to')}: {enough}"
        yield line("relax", step, column=7)


def _amount(row: dict[str, Any], name: str) -> str:
    value = row[name]
    if row["unit"] == "USD":
        return show_usd(value)
    return show_energy(value) if row["unit"] == "kWh" else show_duration(value * 86_400)


def _change(label: str, row: dict[str, Any]) -> Iterator[str]:
    """A change with what it leads to, then the flags to paste behind the command."""
    yield line(label, _nearest(row), column=len(label) + 2)
    yield f"    add  {row['flags']}"  # never wrapped: it is pasted


def _nearest(row: dict[str, Any]) -> str:
    parts = [
        f"{show_bytes(row['peak_bytes'])} of {show_bytes(row['capacity_bytes'])}",
        f"step {show_duration(row['seconds'])}",
        f"run {show_duration(row['run_seconds'])}",
    ]
    if row["usd"] is not None:
        parts.append(show_usd(row["usd"]))
    return f"{row['change']}: {', '.join(parts)}"
