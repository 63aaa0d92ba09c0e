"""What loss will this run reach: a published law's answer with an honest interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.errors import PlannerError
from planner.scaling.allocations import allocation_names
from planner.scaling.laws import Law, choose_law
from planner.scaling.reach import Reach, deviation_of, log_deviation, reach_of, warnings_of
from planner.scaling.widths import LEVEL, foreign_recipe, normal_quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class LossForecast:
    """A forecast loss, or the reason why there is none."""

    value: float | None  # nats per token
    low: float | None  # nats per token; low to high holds 80 %
    high: float | None  # nats per token
    law: str
    warnings: tuple[str, ...]
    reach: Reach | None  # where the run leaves the range of the law's fit; None inside it
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
        return LossForecast(
            value=None, low=None, high=None, law=law, warnings=(), reach=None, reason=reason
        )
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
    deviation = deviation_of(chosen, params, tokens, **conditions)
    low, high = _bounds(value, deviation.total, LEVEL)
    reach = reach_of(chosen, params, tokens, conditions, deviation)
    return LossForecast(
        value=value,
        low=low,
        high=high,
        law=chosen.name,
        warnings=tuple(warnings_of(chosen, reach, tokens, unique_tokens=unique_tokens)),
        reach=reach,
        reason=_reason(chosen),
    )


def interval(
    law: Law, params: float, tokens: float, *, level: float = LEVEL, **conditions: float
) -> tuple[float, float]:
    """Bounds of the loss, nats per token, that hold `level` of foreign recipes."""
    value = float(law.loss(params, tokens, **conditions))
    return _bounds(value, log_deviation(law, params, tokens, **conditions), level)


def _bounds(value: float, deviation: float, level: float) -> tuple[float, float]:
    spread = normal_quantile(level) * deviation
    return value * math.exp(-spread), value * math.exp(spread)


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
