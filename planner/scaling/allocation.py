"""How to split a budget between parameters and tokens under a law.

The budget is training FLOP, or money or days through `flops_at(params)`, what the budget buys at
each model size: a planner that knows the real throughput of every size passes its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from planner.errors import PlannerError
from planner.scaling.allocations import allocation_names, split
from planner.scaling.forecast import interval
from planner.scaling.forms import FloatArray
from planner.scaling.laws import Law, choose_law, positive
from planner.scaling.minimum import minimise
from planner.scaling.reach import Reach, reach_of, warnings_of
from planner.scaling.two_powers import TRAINING_FLOPS, two_powers
from planner.scaling.widths import LEVEL

FlopsAt = Callable[[FloatArray], FloatArray]
Conditions = Mapping[str, float]

SMALLEST, LARGEST = 1e3, 1e18  # parameters: bounds of every search
INFERENCE_FLOPS = 2.0  # per parameter and token served
DRAW_SPAN, DRAW_GRID = 4.0, 81  # in logs of size about the optimum; points of the grid
BAND_SPAN, BAND_GRID = 7.0, 1401
GUESSING = 11.5  # nats per token: a uniform guess among 100,000 entries; no trained run is worse
BAND = 0.005  # sizes whose loss is within 0.5 % of the best make up the flat optimum


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """A split of the budget. Intervals hold 80 %; None where the law states no such thing."""

    params: float  # as the law counts them
    tokens: float
    flops: float  # training FLOP spent
    loss: float | None  # nats per token
    loss_low: float | None
    loss_high: float | None
    params_low: float | None  # of the optimal size, from the uncertainty of the law's constants
    params_high: float | None
    tokens_low: float | None
    tokens_high: float | None
    band_low: float | None  # smallest and largest size within 0.5 % of the best loss
    band_high: float | None
    law: str
    warnings: tuple[str, ...]
    reach: Reach | None  # where the optimum leaves the range of the law's fit; None inside it

    @property
    def tokens_per_param(self) -> float:
        return self.tokens / self.params


def optimum(
    *,
    flops: float | None = None,
    flops_at: FlopsAt | None = None,
    law: str | Law | None = None,
    conditions: Conditions | None = None,
    bounds: tuple[float, float] = (SMALLEST, LARGEST),
) -> Optimum:
    """The size and data of least loss for a budget.

    Give `flops`, or `flops_at`, which maps an array of sizes to the training FLOP that the budget
    buys at each (0 or nan where the size does not fit; see `throughput.bought` for a table of
    sizes), and `bounds`, the sizes to consider. `conditions` are those of the law by name:
    unique_tokens, experts, granularity, weight_bits.

    >>> best = optimum(flops=5.76e23)
    >>> f"{best.params:.3g} {best.tokens_per_param:.1f}"
    '7.22e+10 18.4'
    """
    if (flops is None) == (flops_at is None):
        raise PlannerError("flops", flops, "give either a number of FLOP or what each size gets")
    if isinstance(law, str) and law in allocation_names():
        return _published(law, flops)
    given = dict(conditions or {})
    chosen = choose_law(law, given)
    if flops_at is not None:
        return _least_loss(chosen, flops_at, given, _search(chosen, flops_at, given, bounds))
    budget = float(positive("flops", flops or 0.0))
    params, tokens = best_split(flops=budget, law=chosen, conditions=given)
    loss = float(chosen.loss(params, tokens, **given))
    return _least_loss(chosen, _constant(budget), given, (params, loss))


def best_split(
    *, flops: float, law: Law, conditions: Conditions | None = None
) -> tuple[float, float]:
    """(parameters, tokens) of least loss for `flops` of training: the optimum without intervals.

    >>> params, tokens = best_split(flops=5.76e23, law=choose_law(None, {}))
    >>> f"{params:.3g} {tokens / params:.1f}"
    '7.22e+10 18.4'
    """
    given = dict(conditions or {})
    budget = float(positive("flops", flops))
    closed = two_powers(law, given)
    if closed is not None:
        return closed.best_split(budget)
    params, _ = _search(law, _constant(budget), given)
    return params, budget / (TRAINING_FLOPS * params)


def loss_at_sizes(
    law: Law, params: FloatArray, flops_at: FlopsAt, **conditions: float
) -> FloatArray:
    """Loss, nats per token, of spending the budget on each size; inf where it buys nothing."""
    tokens = flops_at(params) / (TRAINING_FLOPS * params)
    usable = np.isfinite(tokens) & (tokens > 0)
    losses = law.loss(params, np.where(usable, tokens, 1.0), **conditions)
    return np.where(usable, losses, np.inf)


def at_fixed_params(*, params: float, flops: float) -> float:
    """Tokens that `flops` of training buys for a model of `params` parameters."""
    return float(positive("flops", flops) / (TRAINING_FLOPS * positive("params", params)))


def at_fixed_tokens(*, tokens: float, flops: float) -> float:
    """Parameters that `flops` of training affords on `tokens` tokens."""
    return float(positive("flops", flops) / (TRAINING_FLOPS * positive("tokens", tokens)))


def flops_for_loss(
    *, loss: float, law: str | Law | None = None, conditions: Conditions | None = None
) -> float:
    """Least training FLOP whose optimal split reaches `loss`; PlannerError when none does."""
    given = dict(conditions or {})
    chosen = choose_law(law, given)

    def reached(flops: float) -> float:
        params, tokens = best_split(flops=flops, law=chosen, conditions=given)
        return float(chosen.loss(params, tokens, **given))

    low, high = 1e9, 1e36
    if reached(high) > loss:
        raise PlannerError("loss", loss, f"{chosen.name} reaches it at no compute below 1e36 FLOP")
    for _ in range(100):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if reached(middle) > loss else (low, middle)
    return high


def _least_loss(
    law: Law, spend: FlopsAt, conditions: dict[str, float], found: tuple[float, float]
) -> Optimum:
    params, loss = found
    if not np.isfinite(loss):
        raise PlannerError("budget", "no size", "buys no training at any size; raise it")
    flops = float(spend(np.array(params)))
    if loss > GUESSING:
        remedy = f"buys no run worth the name: {loss:.3g} nats per token at best; raise it"
        raise PlannerError("budget", f"{flops:.3g} FLOP", remedy)
    tokens = flops / (TRAINING_FLOPS * params)
    low, high = interval(law, params, tokens, **conditions)
    reach = reach_of(law, params, tokens, conditions)
    sizes = _sizes_of_draws(law, spend, params, conditions)
    band_low, band_high = _band(law, spend, params, loss, conditions)
    return Optimum(
        params=params,
        tokens=tokens,
        flops=flops,
        loss=loss,
        loss_low=low,
        loss_high=high,
        params_low=None if sizes is None else float(np.quantile(sizes, 0.5 - LEVEL / 2)),
        params_high=None if sizes is None else float(np.quantile(sizes, 0.5 + LEVEL / 2)),
        tokens_low=None if sizes is None else _tokens(spend, np.quantile(sizes, 0.5 + LEVEL / 2)),
        tokens_high=None if sizes is None else _tokens(spend, np.quantile(sizes, 0.5 - LEVEL / 2)),
        band_low=band_low,
        band_high=band_high,
        law=law.name,
        warnings=tuple(
            warnings_of(law, reach, tokens, unique_tokens=conditions.get("unique_tokens"))
        ),
        reach=reach,
    )


def _search(
    law: Law,
    spend: FlopsAt,
    conditions: dict[str, float],
    bounds: tuple[float, float] = (SMALLEST, LARGEST),
) -> tuple[float, float]:
    low, high = bounds
    if not 0 < low < high:
        raise PlannerError("bounds", bounds, "the smallest size must be below the largest")
    return minimise(
        lambda sizes: loss_at_sizes(law, sizes, spend, **conditions), low=low, high=high
    )


def _sizes_of_draws(
    law: Law, spend: FlopsAt, params: float, conditions: dict[str, float]
) -> FloatArray | None:
    """The best size under each draw of the law's constants, shape (draws,)."""
    sizes = params * np.exp(np.linspace(-DRAW_SPAN, DRAW_SPAN, DRAW_GRID))
    flops = spend(sizes)
    usable = np.isfinite(flops) & (flops > 0)
    if law.draws is None or not usable.any():
        return None
    sizes, flops = sizes[usable], flops[usable]
    losses = law.loss_of_draws(sizes, flops / (TRAINING_FLOPS * sizes), **conditions)
    return None if losses is None else _vertices(np.log(sizes), losses)


def _vertices(log_sizes: FloatArray, losses: FloatArray) -> FloatArray:
    """Sizes at the minimum of each row, by the parabola through its three lowest neighbours."""
    best = np.clip(np.argmin(losses, axis=1), 1, max(len(log_sizes) - 2, 1))
    if len(log_sizes) < 3:
        lowest: FloatArray = np.exp(log_sizes[np.argmin(losses, axis=1)])
        return lowest
    rows = np.arange(len(losses))
    left, middle, right = (losses[rows, best + step] for step in (-1, 0, 1))
    bend = np.maximum(left - 2 * middle + right, np.finfo(float).tiny)
    shift = np.clip((left - right) / (2 * bend), -1, 1)
    sizes: FloatArray = np.exp(log_sizes[best] + shift * np.diff(log_sizes)[best - 1])
    return sizes


def _band(
    law: Law, spend: FlopsAt, params: float, loss: float, conditions: dict[str, float]
) -> tuple[float, float]:
    sizes = params * np.exp(np.linspace(-BAND_SPAN, BAND_SPAN, BAND_GRID))
    near = loss_at_sizes(law, sizes, spend, **conditions) <= loss * (1 + BAND)
    near |= sizes == sizes[len(sizes) // 2]  # the optimum itself
    return float(sizes[near].min()), float(sizes[near].max())


def _published(name: str, flops: float | None) -> Optimum:
    if flops is None:
        raise PlannerError("law", name, "splits FLOP only; choose a law that states a loss")
    chosen = split(name)
    params, tokens = chosen.at(flops)
    return Optimum(
        params=params,
        tokens=tokens,
        flops=flops,
        loss=None,
        loss_low=None,
        loss_high=None,
        params_low=None,
        params_high=None,
        tokens_low=None,
        tokens_high=None,
        band_low=None,
        band_high=None,
        law=name,
        warnings=tuple(chosen.warnings(flops)),
        reach=None,
    )


def _tokens(spend: FlopsAt, params: float) -> float:
    return float(spend(np.array(params)) / (TRAINING_FLOPS * params))


def _constant(flops: float) -> FlopsAt:
    return lambda sizes: np.full_like(sizes, flops)
