"""What a plan lacks: memory, money, time or energy, and the nearest plan that has it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from planner.planning.limits import (
    highest_price,
    least_violating,
    relaxations,
    violations_of,
)
from planner.planning.outline import Outline
from planner.planning.variants import row_of


def shortfall_of(bones: Outline) -> dict[str, Any] | None:
    """None where the plan fits and keeps every limit of the run.

    `what` is the first thing that is short: memory, host_memory, or the most broken limit.
    `nearest` is the smallest change that fits, or, where only limits are broken, the least
    violating plan.
    """
    broken = violations_of(bones)
    if bones.fits and not broken:
        return None
    what, missing = _missing(bones)
    found: dict[str, Any] = {
        "what": what or broken[0].limit,
        "bytes": missing,
        "violated": [{**asdict(each), "factor": each.factor} for each in broken],
        "nearest": None,
        "alternatives": [],
        "relax": [],
        "highest_usd_per_device_hour": highest_price(bones),
    }
    if bones.fits:
        return found | _within_limits(bones)
    from planner.planning.nearest import nearest_fit

    return found | nearest_fit(bones)


def _missing(bones: Outline) -> tuple[str | None, float | None]:
    """Which memory is short and by how many bytes; None where all is there."""
    if not bones.choice.fits:
        return "memory", bones.peak_bytes - bones.capacity_bytes
    if bones.host_shortage:
        return "host_memory", bones.host_shortage
    return None, None


def _within_limits(bones: Outline) -> dict[str, Any]:
    """The least violating plan, and what each limit would have to be for it."""
    least, variant = least_violating(bones)
    nearest = None
    if variant is not None:
        left = [{**asdict(each), "factor": each.factor} for each in violations_of(least)]
        nearest = {**row_of(bones.scenario, variant, least), "violated": left}
    return {"nearest": nearest, "relax": relaxations(bones, least)}
