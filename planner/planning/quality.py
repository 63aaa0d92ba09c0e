"""How good the model will be, from where more training brings little, and what stopping frees."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from planner.planning.law import Question, no_law, question_of
from planner.planning.result import CostPart, LossPart, RunPart
from planner.planning.scenario import Scenario
from planner.quantities import show_percent

DOUBLINGS_WATCHED = 4  # before the end of the run: where the rule can tell anything
EVALUATIONS_PER_DOUBLING = 2  # the rule wants two in a row under the threshold
EVALUATION_TOKENS = 10_485_760  # of one evaluation: modded-nanoGPT's, fixed by its rules
FORWARD_SHARE = 1 / 3  # of the FLOP of a training step, per token: 2N of 6N
HOUR = 3600.0  # s


def loss_of(each: Scenario, run: RunPart) -> LossPart:
    """Forecast by the law that describes the run; None with the reason where no law does."""
    reason = no_law(each)
    if reason:
        return LossPart(value=None, low=None, high=None, law=None, reason=reason, optimum=None)
    from planner.scaling.forecast import predict_loss

    assert run.tokens is not None, "a law is of tokens"
    asked = question_of(each, float(run.tokens))
    forecast = predict_loss(
        params=asked.params, tokens=asked.tokens, law=asked.law, **asked.conditions
    )
    return LossPart(
        value=forecast.value,
        low=forecast.low,
        high=forecast.high,
        law=forecast.law,
        reason=forecast.reason,
        optimum=_optimum(asked),
        conditions=asked.conditions,
        beyond_fit=None if forecast.reach is None else forecast.reach.to_json(),
    )


def _optimum(asked: Question) -> dict[str, float]:
    """The best use of the run's FLOP, whatever size it takes."""
    from planner.scaling.allocation import best_split
    from planner.scaling.two_powers import loss_function

    flops = 6 * asked.params * asked.tokens
    params, tokens = best_split(flops=flops, law=asked.law, conditions=asked.conditions)
    loss = loss_function(asked.law, asked.conditions)(params, tokens)
    return {"params": params, "tokens": tokens, "loss": loss}


def stop_of(each: Scenario, run: RunPart, cost: CostPart) -> dict[str, Any] | None:
    """Where the next doubling would bring less than the threshold; None where no law tells."""
    if no_law(each):
        return None
    from planner.scaling.marginal import THRESHOLD, marginal_gain
    from planner.scaling.two_powers import loss_function

    assert run.tokens is not None, "a law is of tokens"
    asked = question_of(each, float(run.tokens))
    loss = loss_function(asked.law, asked.conditions)
    marginal = marginal_gain(
        params=asked.params, tokens=asked.tokens, law=asked.law, conditions=asked.conditions
    )
    stop = marginal.stop_tokens
    share = stop / asked.tokens
    within = share < 1
    validation = validation_steps(run.steps, share)
    return {
        "rule": "the next doubling of tokens lowers the loss by less than "
        + show_percent(THRESHOLD),
        "threshold": THRESHOLD,
        "tokens": stop,
        "tokens_per_param": stop / asked.params,
        "run_tokens_per_param": asked.tokens / asked.params,
        "step": math.ceil(share * run.steps) if within else None,
        "loss": loss(asked.params, stop) if within and stop > 0 else None,
        "last_doubling_gain": marginal.last_doubling,
        "next_doubling_gain": marginal.next_doubling,
        "gain_per_hour": _gain_of_last(loss, asked, HOUR / run.seconds),
        "gain_per_usd": _gain_of_last(loss, asked, 1 / cost.usd) if cost.usd else None,
        "within_run": within,
        "seconds": run.seconds * share if within else None,
        "freed_device_hours": run.device_hours * (1 - share) if within else 0.0,
        "next_validation": validation,
        "validation_cost": _validation_cost(run, cost, len(validation)),
        "curve": _curve(loss, asked, run, validation),
        "freed": _freed(asked, run, cost, share),
    }


def _gain_of_last(
    loss: Callable[[float, float], float], asked: Question, share: float
) -> float | None:
    """What the last `share` of the run takes off the loss, as a share of it; None for a run that
    is shorter than that."""
    if not 0 < share < 1:
        return None
    before = loss(asked.params, asked.tokens * (1 - share))
    return 1 - loss(asked.params, asked.tokens) / before


def validation_steps(steps: int, stop_share: float) -> list[int]:
    """Steps to evaluate at: evenly spaced in log compute over the last doublings, with the stop
    point where it lies inside.

    >>> validation_steps(1000, 2.0)
    [63, 89, 125, 177, 250, 354, 500, 708, 1000]
    """
    count = DOUBLINGS_WATCHED * EVALUATIONS_PER_DOUBLING
    shares = [2.0 ** ((index - count) / EVALUATIONS_PER_DOUBLING) for index in range(count + 1)]
    if 0 < stop_share < 1:
        shares.append(stop_share)
    return sorted({math.ceil(share * steps) for share in shares})


def _curve(
    loss: Callable[[float, float], float], asked: Question, run: RunPart, steps: list[int]
) -> list[dict[str, float]]:
    """What to expect at each evaluation, of a run whose schedule ends there: a run in the middle
    of its decay stands higher."""
    rows = []
    for step in steps:
        tokens = asked.tokens * step / run.steps
        here = loss(asked.params, tokens)
        gain = 1 - here / loss(asked.params, tokens / 2)
        rows.append({"step": step, "tokens": tokens, "loss": here, "last_doubling_gain": gain})
    return rows


def _validation_cost(run: RunPart, cost: CostPart, count: int) -> dict[str, float | None]:
    """What the evaluations take beside the run, each of `EVALUATION_TOKENS` forward only."""
    assert run.tokens, "a law is of tokens"
    each = FORWARD_SHARE * EVALUATION_TOKENS * run.parts["training"] / run.tokens
    usd_per_second = None if cost.usd is None else cost.usd / run.seconds
    return {
        "tokens_each": EVALUATION_TOKENS,
        "seconds_each": each,
        "seconds": each * count,
        "usd": None if usd_per_second is None else each * count * usd_per_second,
    }


def _freed(asked: Question, run: RunPart, cost: CostPart, share: float) -> dict[str, Any]:
    """The rest of the run after the stop point, and what that compute would serve better."""
    left = max(1 - share, 0.0)
    return {
        "device_hours": run.device_hours * left,
        "usd": None if cost.usd is None else cost.usd * left,
        "use": _uses(asked, share) if 0 < share < 1 else [],
    }


def _uses(asked: Question, share: float) -> list[str]:
    from planner.scaling.uses import uses_of_rest

    return uses_of_rest(
        params=asked.params,
        tokens=asked.tokens * share,
        rest=(1 - share) / share,
        law=asked.law,
        conditions=asked.conditions,
    )
