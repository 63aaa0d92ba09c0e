"""What stopping now sets free, and what that would buy."""

from __future__ import annotations

from dataclasses import dataclass

from planner.quantities import show_count, show_duration
from planner.scaling.allocation import optimum
from planner.scaling.laws import DEFAULT_LAW, law
from planner.scaling.stopping.clockwork import Clockwork
from planner.scaling.stopping.options import StopOptions

_FLOPS_PER_PARAM_AND_TOKEN = 6.0
_WORTH_TELLING = 0.05  # of the run so far


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
    if share < _WORTH_TELLING:
        return ["less than 5 % of the run is left: nothing worth a plan"]
    uses = [f"{share:.2g} times the compute spent so far"]
    if share >= 1.0:
        uses.append(f"{int(share)} more seed(s) of this run, each to the present step")
    else:
        uses.append(f"another variant of this run to {share:.0%} of its present length")
    if hours is not None:
        uses.append(
            f"another job of the pool for {show_duration(hours * 3600.0)} on the same devices"
        )
    if options.params is not None and tokens is not None:
        uses.append(_by_the_law(options.params, tokens, share))
    return uses


def _by_the_law(params: float, tokens: float, share: float) -> str:
    """The best new model for the freed compute, and for all of it."""
    spent = _FLOPS_PER_PARAM_AND_TOKEN * params * tokens
    best = optimum(flops=spent * share)
    here = float(law(DEFAULT_LAW).loss(params, tokens))
    return (
        f"by {DEFAULT_LAW}, a new model of {show_count(best.params)} parameters on "
        f"{show_count(best.tokens)} tokens: loss {best.loss:.3f} against {here:.3f} of this model "
        "on what it has seen, both on that law's data"
    )
