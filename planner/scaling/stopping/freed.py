"""What stopping now sets free, and what that would buy."""

from __future__ import annotations

from dataclasses import dataclass

from planner.quantities import show_duration, show_percent
from planner.scaling.laws import DEFAULT_LAW, law
from planner.scaling.stopping.clockwork import Clockwork
from planner.scaling.stopping.options import StopOptions
from planner.scaling.uses import NOTHING, WORTH_TELLING, uses_by_law


@dataclass(frozen=True, slots=True, kw_only=True)
class Freed:
    """The rest of the planned run. None = unknown."""

    steps: float | None
    hours: float | None
    device_hours: float | None
    usd: float | None
    use: tuple[str, ...]


def freed_budget(
    last: float, total: float | None, tokens: float | None, clock: Clockwork, options: StopOptions
) -> Freed:
    """From the last step to the planned end; `tokens` are those trained on so far."""
    if total is None:
        told = ("the planned length is unknown: say --total-steps to see what stopping sets free",)
        return Freed(steps=None, hours=None, device_hours=None, usd=None, use=told)
    hours = clock.hours_between(last, total)
    devices = options.num_devices
    return Freed(
        steps=total - last,
        hours=hours,
        device_hours=None if hours is None or devices is None else hours * devices,
        usd=clock.usd_between(last, total),
        use=tuple(_uses(last, total, tokens, hours, options)),
    )


def _uses(
    last: float, total: float, tokens: float | None, hours: float | None, options: StopOptions
) -> list[str]:
    share = (total - last) / last
    if share < WORTH_TELLING:
        return [NOTHING]
    uses = [f"{share:.2g} times the compute spent so far"]
    if share >= 1.0:
        uses.append(f"{int(share)} more seed(s) of this run, each to the present step")
    else:
        uses.append(f"another variant of this run to {show_percent(share)} of its present length")
    if hours is not None:
        uses.append(
            f"another job of the pool for {show_duration(hours * 3600.0)} on the same devices"
        )
    if options.params is not None and tokens is not None:
        uses += uses_by_law(options.params, tokens, share, law(DEFAULT_LAW))
    return uses
