"""Where a question leaves the range of a law's fit, and what that does to the forecast."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.quantities import show_count
from planner.scaling.laws import Law
from planner.scaling.widths import LEVEL, drift_per_decade, foreign_recipe, normal_quantile

EPOCHS_WORTH_REPEATING = 40.0  # arXiv:2305.16264, section 6: value of a repeat is gone by then


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """One quantity of a run that no run of the law's fit came near."""

    quantity: str  # params | tokens | flops | ratio (tokens per parameter) | experts
    value: float
    low: float  # of the fit
    high: float  # of the fit

    @property
    def words(self) -> str:
        """The quantity beside its range."""
        name, show = _SHOWN[self.quantity]
        return f"{name} {show(self.value)} (fitted on {show(self.low)} to {show(self.high)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """A forecast beyond the range of a law's fit."""

    law: str
    outside: tuple[Outside, ...]  # never empty
    decades: float  # of compute between the run and the range of the fit; 0 inside it
    interval: float  # half-width of the 80 % interval as a share of the loss, as it is
    interval_inside: float  # ... as it would be inside the range
    warning: str  # what leaves the range, and what that does, in one sentence each

    def to_json(self) -> dict[str, Any]:
        """Plain numbers: what is outside, by how much, and the interval with and without it."""
        return {
            "outside": [
                {"quantity": part.quantity, "value": part.value, "low": part.low, "high": part.high}
                for part in self.outside
            ],
            "decades_of_compute": self.decades,
            "interval": self.interval,
            "interval_inside": self.interval_inside,
            "says": self.warning,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """Standard deviation of log loss, in parts that add in squares."""

    inside: float  # the recipe and the law's constants
    drift: float  # beyond the fitted compute
    decades: float  # of compute beyond it

    @property
    def total(self) -> float:
        return math.hypot(self.inside, self.drift)


def deviation_of(law: Law, params: float, tokens: float, **conditions: float | None) -> Deviation:
    """How unsure a law's loss is. A law fitted to one's own runs has no foreign recipe, only the
    scatter of single runs."""
    recipe = foreign_recipe(law.name) if law.noise is None else law.noise
    draws = law.loss_of_draws(params, tokens, **conditions)
    constants = 0.0 if draws is None else float(np.std(np.log(draws)))
    decades = decades_beyond(law, params, tokens)
    return Deviation(
        inside=math.hypot(recipe, constants), drift=drift_per_decade() * decades, decades=decades
    )


def log_deviation(law: Law, params: float, tokens: float, **conditions: float | None) -> float:
    """Standard deviation of log loss: recipe, drift beyond the fitted compute, constants."""
    return deviation_of(law, params, tokens, **conditions).total


def reach_of(
    law: Law,
    params: float,
    tokens: float,
    conditions: Mapping[str, float] | None = None,
    deviation: Deviation | None = None,
) -> Reach | None:
    """What of this run lies outside the range of the law's fit; None where nothing does.

    `params` as the law counts them; `deviation` where it is known already.

    >>> from planner.scaling.laws import law
    >>> reach = reach_of(law("besiroglu2024"), 70e9, 1.4e12)
    >>> [part.quantity for part in reach.outside], round(reach.decades, 2)
    (['params', 'tokens', 'flops'], 1.66)
    """
    asked = {"params": params, "tokens": tokens, "flops": 6 * params * tokens}
    asked |= {"ratio": tokens / params}
    given = dict(conditions or {})
    asked |= given
    outside = tuple(
        Outside(quantity=name, value=asked[name], low=low, high=high)
        for name, (low, high) in law.ranges.items()
        if name in asked and not low <= asked[name] <= high
    )
    if not outside:
        return None
    known = deviation or deviation_of(law, params, tokens, **given)
    interval, inside = _half_width(known.total), _half_width(known.inside)
    places = ", ".join(part.words for part in outside)
    effect = _effect(known.decades, inside, interval)
    return Reach(
        law=law.name,
        outside=outside,
        decades=known.decades,
        interval=interval,
        interval_inside=inside,
        warning=f"outside the range of the fit of {law.name}: {places}; {effect}",
    )


def _effect(decades: float, inside: float, interval: float) -> str:
    """What leaving the range does to the forecast and its interval."""
    if not decades:
        return (
            "the compute is within it, so the interval of the loss is no wider for that: trust "
            "it less than it says"
        )
    far = f"the loss is extrapolated over {decades:.2g} decades of compute"
    before, after = (f"±{100 * each:.1f} %" for each in (inside, interval))
    if before == after:
        return f"{far}, which widens its 80 % interval ({after}) by less than it shows"
    return f"{far}, which widens its 80 % interval from {before} to {after}"


def warnings_of(
    law: Law, reach: Reach | None, tokens: float, *, unique_tokens: float | None = None
) -> list[str]:
    """Where a question leaves the law's range, and the law's known traps."""
    found = [] if reach is None else [reach.warning]
    if unique_tokens is not None and tokens > EPOCHS_WORTH_REPEATING * unique_tokens:
        found.append(
            f"{tokens / unique_tokens:.3g} epochs: repeats past about "
            f"{EPOCHS_WORTH_REPEATING:.0f} add nothing and the law is weak there"
        )
    return found + list(law.traps)


def _half_width(deviation: float) -> float:
    """Of the 80 % interval, upwards, as a share of the loss."""
    return math.expm1(normal_quantile(LEVEL) * deviation)


def decades_beyond(law: Law, params: float, tokens: float) -> float:
    """Decades of compute between this run and the range of the law's fit; 0 inside it."""
    low, high = law.ranges.get("flops") or _flops_of(law)
    flops = 6 * params * tokens
    return max(math.log10(flops / high), math.log10(low / flops), 0.0)


def _flops_of(law: Law) -> tuple[float, float]:
    """A range of compute for laws that state one of parameters and tokens (or ratio) instead."""
    (small, large) = law.ranges["params"]
    if "tokens" in law.ranges:
        few, many = law.ranges["tokens"]
        return 6 * small * few, 6 * large * many
    few, many = law.ranges["ratio"]
    return 6 * small**2 * few, 6 * large**2 * many


def _flop(value: float) -> str:
    return f"{value:.3g} FLOP"


def _plain(value: float) -> str:
    return f"{value:.3g}"


_SHOWN: dict[str, tuple[str, Callable[[float], str]]] = {
    "params": ("parameters", show_count),
    "tokens": ("tokens", show_count),
    "flops": ("compute", _flop),
    "ratio": ("tokens per parameter", _plain),
    "experts": ("experts", _plain),
}
