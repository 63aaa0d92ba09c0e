"""The view of a budget of ideal FLOP: the law alone, no machine."""

from __future__ import annotations

from typing import Any

from planner.scaling.allocation import Optimum, optimum
from planner.scaling.frontier import SizePoint, frontier, size_curve
from planner.scaling.laws import Law
from planner.scaling.marginal import marginal_gain
from planner.scaling.serving import served_optimum
from ui.scaling_view import OTHERS, Asked, Curve, FrontierRow, Point, View, amounts_near


def of_flops(asked: Asked, law: Law) -> View:
    """The view of a budget of FLOP under a law."""
    conditions = dict(asked.conditions)
    best = optimum(flops=asked.amount, law=law, conditions=conditions)
    assert best.loss is not None
    assert best.loss_low is not None
    assert best.loss_high is not None
    assert best.band_low is not None
    assert best.band_high is not None
    rows = frontier(flops=amounts_near(asked.amount), law=law, conditions=conditions)
    return View(
        asked=asked,
        usd=None,
        seconds=None,
        params=(best.params, best.params_low, best.params_high),
        tokens=(best.tokens, best.tokens_low, best.tokens_high),
        loss=(best.loss, best.loss_low, best.loss_high),
        band=(best.band_low, best.band_high),
        gain=_compute_gain(best, law, conditions),
        curve=_ideal_curve(asked.amount, law, conditions),
        others=tuple(_ideal_curve(asked.amount * each, law, conditions) for each in OTHERS),
        frontier=tuple(
            FrontierRow(
                amount=row.flops,
                params=row.params,
                tokens=row.tokens,
                loss=row.loss,
                low=row.low,
                high=row.high,
                gain=row.gain_next_doubling,
            )
            for row in rows
        ),
        own=None,
        shape=None,
        serving=_ideal_serving(best, asked, law, conditions),
        limit=None,
        law=best.law,
        counts=law.counts,
        price=None,
        machine=None,
        warnings=best.warnings,
        answer=_ideal_answer(best, law, conditions),
    )


def _compute_gain(best: Optimum, law: Law, conditions: dict[str, float]) -> float:
    doubled = optimum(flops=2 * best.flops, law=law, conditions=conditions)
    assert doubled.loss is not None
    assert best.loss is not None
    return 1 - doubled.loss / best.loss


def _ideal_curve(flops: float, law: Law, conditions: dict[str, float]) -> Curve:
    best = optimum(flops=flops, law=law, conditions=conditions)
    assert best.loss is not None
    rows: list[SizePoint] = size_curve(flops=flops, law=law, points=33, conditions=conditions)
    points = tuple(
        Point(params=row.params, tokens=row.tokens, loss=row.loss, in_band=row.in_band)
        for row in rows
    )
    return Curve(
        amount=flops, points=points, params=best.params, tokens=best.tokens, loss=best.loss
    )


def _ideal_serving(
    best: Optimum, asked: Asked, law: Law, conditions: dict[str, float]
) -> dict[str, float] | None:
    if asked.inference_tokens is None:
        return None
    assert best.loss is not None
    found = served_optimum(
        loss=best.loss, inference_tokens=asked.inference_tokens, law=law, conditions=conditions
    )
    return {
        "params": found.params,
        "tokens": found.tokens,
        "tokens_per_param": found.tokens / found.params,
        "loss": found.loss,
        "inference_tokens": asked.inference_tokens,
        "saving_of_flops_share": found.saving,
    }


def _ideal_answer(best: Optimum, law: Law, conditions: dict[str, float]) -> dict[str, Any]:
    from planner.cli.output import plain

    gains = marginal_gain(params=best.params, tokens=best.tokens, law=law, conditions=conditions)
    found: dict[str, Any] = plain(best) | {"marginal": plain(gains)}
    return found
