"""The answer of `forerun scaling optimum RUN.yaml` as the JSON that other programs rely on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planner.errors import PlannerError
from planner.planning.joined.best import (
    Best,
    Cheapest,
    cheapest_for,
    seconds_at,
    served,
    size_for_tokens,
)
from planner.planning.joined.pace import Pace
from planner.planning.joined.paces import Paces
from planner.planning.joined.spent import Spent
from planner.planning.joined.wishes import Wishes
from planner.scaling.allocation import INFERENCE_FLOPS
from planner.scaling.reach import reach_of
from planner.scaling.two_powers import TRAINING_FLOPS


def joined_answer(table: Paces, best: Best, wishes: Wishes) -> dict[str, Any]:
    """Numbers in SI and USD; unknown is None. Raises PlannerError for wishes out of reach."""
    reach = reach_of(table.law, best.params, best.tokens, table.conditions)
    return {
        "params": best.params,
        "tokens": best.tokens,
        "tokens_per_param": best.tokens_per_param,
        "loss": best.loss,
        "loss_low": best.loss_low,
        "loss_high": best.loss_high,
        "params_low": best.params_low,
        "params_high": best.params_high,
        "tokens_low": best.tokens_low,
        "tokens_high": best.tokens_high,
        "band": list(best.band),
        "flops": TRAINING_FLOPS * best.params * best.tokens,
        "seconds": best.seconds,
        "usd": best.usd,
        "usd_per_hour": table.usd_per_hour,
        "price": table.price,
        "machine": table.machine,
        "tokens_per_second": best.tokens_per_second,
        "nearest": _pace(best.nearest),
        "gain_next_doubling": best.gain_next_doubling,
        "limit": best.limit,
        "law": table.law.name,
        "counts": table.law.counts,
        "conditions": dict(table.conditions),
        "sizes": [_spent(row) for row in best.sizes],
        "as_stated": _spent(best.own),
        "fixed": fixed_part(table, best, wishes),
        "target": target_part(table, best, wishes),
        "serving": serving_part(table, best, wishes),
        "beyond_fit": reach and reach.to_json(),
        "warnings": list(best.warnings),
    }


def fixed_part(table: Paces, best: Best, wishes: Wishes) -> dict[str, Any] | None:
    """A fixed model, fixed data or both, against the optimum of the same budget."""
    params, tokens = wishes.params, wishes.tokens
    if params is None and tokens is None:
        return None
    if params is None:
        assert tokens is not None
        params = size_for_tokens(table, tokens, best.seconds).params
    _refuse_outside(table, params)
    if tokens is None:
        per_token = (_seconds(table, params, 1e12) - table.startup_seconds) / 1e12
        tokens = (best.seconds - table.startup_seconds) / per_token
    loss = float(table.law.loss(params, tokens, **table.conditions))
    seconds = _seconds(table, params, tokens)
    least = cheapest_for(table, loss)
    left = _left(best.seconds, seconds)
    return {
        "params": params,
        "tokens": tokens,
        "tokens_per_param": tokens / params,
        "loss": loss,
        "loss_above_optimum": loss - best.loss,
        "seconds": seconds,
        "usd": table.usd_of(seconds),
        "left_seconds": left,  # negative: missing
        "left_usd": table.usd_of(left),
        "least_for_this_loss_seconds": least.seconds,
        "least_for_this_loss_usd": least.usd,
        "wasted_share": max(1 - least.seconds / seconds, 0.0),
    }


def _left(budget: float, spent: float) -> float:
    """What is left of a budget, rounding apart."""
    return 0.0 if math.isclose(budget, spent, rel_tol=1e-9) else budget - spent


def target_part(table: Paces, best: Best, wishes: Wishes) -> dict[str, Any] | None:
    """The least that reaches a loss, and what it leaves of the budget or what is missing."""
    if wishes.target_loss is None:
        return None
    return _cheapest(table, best, cheapest_for(table, wishes.target_loss))


def serving_part(table: Paces, best: Best, wishes: Wishes) -> dict[str, Any] | None:
    """The model of the same quality that is cheapest over its training and its serving."""
    demand = wishes.inference_tokens
    if demand is None:
        return None
    found = served(table, best, demand)
    whole = _life(found.params, found.tokens, demand)
    plain = _life(best.params, best.tokens, demand)
    return _cheapest(table, best, found) | {
        "inference_tokens": demand,
        "saving_of_flops_share": _left(plain, whole) / plain,
    }


def _life(params: float, tokens: float, demand: float) -> float:
    """FLOP of training and serving."""
    return params * (TRAINING_FLOPS * tokens + INFERENCE_FLOPS * demand)


def _cheapest(table: Paces, best: Best, found: Cheapest) -> dict[str, Any]:
    left = _left(best.seconds, found.seconds)
    return {
        "params": found.params,
        "tokens": found.tokens,
        "tokens_per_param": found.tokens / found.params,
        "loss": found.loss,
        "seconds": found.seconds,
        "usd": found.usd,
        "left_seconds": left,  # negative: missing
        "left_usd": table.usd_of(left),
    }


def _refuse_outside(table: Paces, params: float) -> None:
    fitting = [pace.params for pace in table.table if pace.fits]
    low, high = min(fitting), max(fitting)
    if not low <= params <= high:
        remedy = f"sizes planned for this budget that fit go from {low:.3g} to {high:.3g}"
        raise PlannerError("params", params, remedy)


def _seconds(table: Paces, params: float, tokens: float) -> float:
    return float(seconds_at(table, np.array(params), tokens))


def _spent(row: Spent) -> dict[str, Any]:
    return _pace(row.pace) | {
        "tokens": row.tokens,
        "tokens_low": row.tokens_low,
        "tokens_high": row.tokens_high,
        "loss": row.loss,
        "loss_low": row.low,
        "loss_high": row.high,
        "in_band": row.in_band,
    }


def _pace(pace: Pace) -> dict[str, Any]:
    return {
        "name": pace.name,
        "params": pace.params,
        "params_total": pace.params_total,
        "layers": pace.layers,
        "hidden": pace.hidden,
        "fits": pace.fits,
        "fit_probability": pace.fit_probability,
        "tokens_per_second": pace.tokens_per_second,
        "mfu": pace.mfu,
        "settings": dict(pace.settings),
        "own": pace.own,
    }
