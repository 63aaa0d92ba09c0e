"""The best use of money or days on one machine: size, data, loss, and what else they would buy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.errors import PlannerError
from planner.planning.intervals import Z80
from planner.planning.joined.pace import Pace
from planner.planning.joined.paces import DAY, Budget, Paces
from planner.planning.joined.spent import Spent, loss_interval, spent_on, tokens_interval
from planner.scaling.allocation import BAND, FlopsAt, Optimum, optimum
from planner.scaling.forms import FloatArray
from planner.scaling.serving import served_optimum, tokens_for_loss
from planner.scaling.throughput import bought
from planner.scaling.two_powers import TRAINING_FLOPS

EDGE = 1.02  # times the smallest or largest size: an optimum this near to it is cut off


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The optimum of a budget. Intervals bound 80 %: the law's doubts and the speed's together."""

    seconds: float
    usd: float | None
    params: float  # as the law counts them
    params_low: float | None
    params_high: float | None
    tokens: float
    tokens_low: float
    tokens_high: float
    loss: float  # nats per token
    loss_low: float
    loss_high: float
    band: tuple[float, float]  # smallest and largest size within 0.5 % of the best loss
    tokens_per_second: float
    nearest: Pace  # the planned size nearest to it
    sizes: tuple[Spent, ...]  # the budget spent on every planned size
    own: Spent  # ... on the run's own model under the run's own settings
    gain_next_doubling: float  # share by which the best loss falls when the budget doubles
    limit: str | None  # what cuts the optimum off: the largest size that fits, the smallest planned
    warnings: tuple[str, ...]

    @property
    def tokens_per_param(self) -> float:
        return self.tokens / self.params


@dataclass(frozen=True, slots=True, kw_only=True)
class Cheapest:
    """A model and data that reach some loss, and what that takes."""

    params: float
    tokens: float
    loss: float
    seconds: float
    usd: float | None


def best_of(table: Paces, budget: Budget) -> Best:
    """The size and data of least loss for a budget. Raises PlannerError for one that buys nothing.

    The law is evaluated at the tokens that each size really gets, straight in log-log between the
    planned sizes.
    """
    seconds = table.seconds_of(budget)
    found = _optimum(table, seconds)
    assert found.loss is not None
    near = nearest(table, found.params)
    law, given = table.law, dict(table.conditions)
    low, high = loss_interval(law, found.params, found.tokens, near.time_sigma, given)
    fewest, most = tokens_interval(found.tokens, near.time_sigma)
    edge = found.loss * (1 + BAND)
    smallest, largest = _params_interval(table, seconds, found, near.time_sigma)
    return Best(
        seconds=seconds,
        usd=table.usd_of(seconds),
        params=found.params,
        params_low=smallest,
        params_high=largest,
        tokens=found.tokens,
        tokens_low=fewest,
        tokens_high=most,
        loss=found.loss,
        loss_low=low,
        loss_high=high,
        band=_band(found),
        tokens_per_second=found.tokens / (seconds - table.startup_seconds),
        nearest=near,
        sizes=tuple(spent_on(each, seconds, law, given, limit=edge) for each in table.table),
        own=spent_on(table.stated, seconds, law, given, limit=edge),
        gain_next_doubling=1 - _loss(table, 2 * seconds) / found.loss,
        limit=_limit(table, found.params),
        warnings=tuple(dict.fromkeys((*table.warnings, *found.warnings))),
    )


def seconds_at(table: Paces, params: FloatArray, tokens: FloatArray | float) -> FloatArray:
    """Wall time of training sizes on `tokens`; nan for sizes that do not fit."""
    rates = _flops_at(table, table.startup_seconds + 1.0)(params)
    return table.startup_seconds + TRAINING_FLOPS * params * tokens / rates


def size_for_tokens(table: Paces, tokens: float, seconds: float) -> Cheapest:
    """Fixed data: the largest size that the budget trains on `tokens`. Raises PlannerError when
    even the smallest planned size is too large for it."""
    sizes = _grid(table)
    needed = seconds_at(table, sizes, tokens)
    if not np.any(needed <= seconds):
        usd = table.usd_of(float(np.nanmin(needed)))
        money = "" if usd is None else f" or ${usd:,.0f}"
        remedy = f"takes {np.nanmin(needed) / DAY:.3g} days{money} even at the smallest size here"
        raise PlannerError("tokens", tokens, remedy)
    return _spent_exactly(table, float(sizes[needed <= seconds][-1]), tokens)


def cheapest_for(table: Paces, loss: float) -> Cheapest:
    """The least time or money that reaches `loss`. Raises PlannerError when no size here does."""
    sizes = _grid(table)
    tokens = tokens_for_loss(table.law, sizes, loss, **table.conditions)
    seconds = np.fmin(seconds_at(table, sizes, tokens), np.inf)  # nan, which does not fit, is last
    best = int(np.argmin(seconds))
    if not np.isfinite(seconds[best]):
        raise PlannerError("loss", loss, f"no size that fits reaches it under {table.law.name}")
    return _spent_exactly(table, float(sizes[best]), float(tokens[best]))


def served(table: Paces, best: Best, inference_tokens: float) -> Cheapest:
    """The model of the same quality that costs least to train and to serve `inference_tokens`,
    by FLOP (arXiv:2401.00448); its training is timed at the speed its size reaches here. Where
    the cheapest would be larger than what fits, the largest that fits costs least."""
    found = served_optimum(
        loss=best.loss,
        inference_tokens=inference_tokens,
        law=table.law,
        conditions=table.conditions,
    )
    smallest, largest = _ends(table)
    if found.params < smallest:
        remedy = f"asks for {found.params:.3g} parameters; the smallest planned has {smallest:.3g}"
        raise PlannerError("inference_tokens", inference_tokens, remedy)
    if found.params > largest:
        tokens = tokens_for_loss(table.law, np.array(largest), best.loss, **table.conditions)
        return _spent_exactly(table, largest, float(tokens))
    return _spent_exactly(table, found.params, found.tokens)


def nearest(table: Paces, params: float) -> Pace:
    """The planned size that fits and lies nearest to `params`."""
    fitting = [pace for pace in table.table if pace.fits]
    return min(fitting, key=lambda pace: abs(math.log(pace.params / params)))


def _spent_exactly(table: Paces, params: float, tokens: float) -> Cheapest:
    seconds = float(seconds_at(table, np.array(params), tokens))
    return Cheapest(
        params=params,
        tokens=tokens,
        loss=float(table.law.loss(params, tokens, **table.conditions)),
        seconds=seconds,
        usd=table.usd_of(seconds),
    )


def _grid(table: Paces) -> FloatArray:
    """Many sizes between the smallest and the largest that fit, rising."""
    return np.geomspace(*_ends(table), 2001)


def _ends(table: Paces) -> tuple[float, float]:
    fitting = [pace.params for pace in table.table if pace.fits]
    return min(fitting), max(fitting)


def _flops_at(table: Paces, seconds: float) -> FlopsAt:
    return bought(
        [pace.params for pace in table.table],
        [pace.flops_per_second for pace in table.table],
        budget=seconds - table.startup_seconds,
    )


def _optimum(table: Paces, seconds: float) -> Optimum:
    return optimum(
        flops_at=_flops_at(table, seconds),
        law=table.law,
        conditions=table.conditions,
        bounds=_ends(table),
    )


def _loss(table: Paces, seconds: float) -> float:
    found = _optimum(table, seconds).loss
    assert found is not None
    return found


def _band(found: Optimum) -> tuple[float, float]:
    assert found.band_low is not None
    assert found.band_high is not None
    return found.band_low, found.band_high


def _params_interval(
    table: Paces, seconds: float, found: Optimum, time_sigma: float
) -> tuple[float | None, float | None]:
    """The law's doubt about the best size with that of the speed, which moves the budget."""
    if found.params_low is None or found.params_high is None:
        return None, None
    training = seconds - table.startup_seconds
    slower, faster = (
        _optimum(table, table.startup_seconds + training * math.exp(sign * Z80 * time_sigma)).params
        for sign in (-1, 1)
    )
    low = math.hypot(*(math.log(found.params / end) for end in (found.params_low, slower)))
    high = math.hypot(*(math.log(end / found.params) for end in (found.params_high, faster)))
    return found.params * math.exp(-low), found.params * math.exp(high)


def _limit(table: Paces, params: float) -> str | None:
    low, high = _ends(table)
    if params > high / EDGE and any(not pace.fits for pace in table.table):
        return f"the largest size that fits {table.machine}"
    if params > high / EDGE:
        return "the largest size planned"
    return "the smallest size planned" if params < low * EDGE else None
