"""What loss will this run reach: a published law's answer with an honest interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.errors import PlannerError
from planner.scaling.allocations import allocation_names
from planner.scaling.laws import Law, choose_law
from planner.scaling.widths import LEVEL, drift_per_decade, foreign_recipe, normal_quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class LossForecast:
    """A forecast loss, or the reason why there is none."""

    value: float | None  # nats per token
    low: float | None  # nats per token; low to high holds 80 %
    high: float | None  # nats per token
    law: str
    warnings: tuple[str, ...]
    reason: str  # why the interval is as wide as it is, or why there is no value


def predict_loss(
    *,
    params: float,
    tokens: float,
    law: str | Law | None = None,
    unique_tokens: float | None = None,
    experts: float | None = None,
    granularity: float | None = None,
    weight_bits: float | None = None,
) -> LossForecast:
    """Final pre-training loss of `params` parameters, as the law counts them, on `tokens` tokens.

    Without a `law`, the default is besiroglu2024, or the law that knows the condition: repeated
    data muennighoff2023, experts joint-moe2025, granularity krajewski2024-moe, bits kumar2024.
    The interval holds for a recipe that is not the law's own: it is the law's measured error on
    other publications' runs, widened outside the range of its fit. An allocation without a loss
    (hoffmann2022-a1) gives no value and says so. Raises PlannerError for an unknown law, a
    condition that it does not know and for numbers that are not positive.

    >>> forecast = predict_loss(params=70e9, tokens=1.4e12)
    >>> round(forecast.value, 3), round(forecast.low, 2), round(forecast.high, 2)
    (1.974, 1.68, 2.32)
    """
    if isinstance(law, str) and law in allocation_names():
        reason = f"{law} says how to split compute, not which loss that reaches"
        return LossForecast(value=None, low=None, high=None, law=law, warnings=(), reason=reason)
    given = {
        "unique_tokens": unique_tokens if unique_tokens is None or unique_tokens < tokens else None,
        "experts": experts,
        "granularity": granularity,
        "weight_bits": weight_bits,
    }
    conditions = {name: value for name, value in given.items() if value is not None}
    chosen = choose_law(law, conditions)
    value = float(chosen.loss(params, tokens, **conditions))
    if not np.isfinite(value) or value <= 0:
        raise PlannerError("tokens", tokens, f"{chosen.name} gives no finite loss there")
    low, high = _bounds(value, chosen, params, tokens, LEVEL, conditions)
    return LossForecast(
        value=value,
        low=low,
        high=high,
        law=chosen.name,
        warnings=tuple(chosen.warnings(params, tokens, **conditions)),
        reason=_reason(chosen),
    )


def interval(
    law: Law, params: float, tokens: float, *, level: float = LEVEL, **conditions: float
) -> tuple[float, float]:
    """Bounds of the loss, nats per token, that hold `level` of foreign recipes."""
    value = float(law.loss(params, tokens, **conditions))
    return _bounds(value, law, params, tokens, level, conditions)


def _bounds(
    value: float,
    law: Law,
    params: float,
    tokens: float,
    level: float,
    conditions: Mapping[str, float],
) -> tuple[float, float]:
    spread = normal_quantile(level) * log_deviation(law, params, tokens, **conditions)
    return value * math.exp(-spread), value * math.exp(spread)


def log_deviation(law: Law, params: float, tokens: float, **conditions: float) -> float:
    """Standard deviation of log loss: recipe, drift beyond the fitted compute, constants.

    A law fitted to one's own runs has no foreign recipe, only the scatter of single runs.
    """
    recipe = foreign_recipe(law.name) if law.noise is None else law.noise
    drift = drift_per_decade() * decades_beyond(law, params, tokens)
    draws = law.loss_of_draws(params, tokens, **conditions)
    constants = 0.0 if draws is None else float(np.std(np.log(draws)))
    return math.sqrt(recipe**2 + drift**2 + constants**2)


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


def _reason(law: Law) -> str:
    if law.noise is not None:
        return (
            "fitted to runs of this recipe: their constants, their scatter of "
            f"{100 * law.noise:.1f} % and drift beyond their compute make the interval"
        )
    percent = 100 * foreign_recipe(law.name)
    return (
        f"{law.name} was fitted on {law.data}; on other publications' data and tokenizers it is "
        f"off by {percent:.0f} % (root mean square), which the interval carries; a few small runs "
        "of your own narrow it (forerun scaling fit)"
    )
