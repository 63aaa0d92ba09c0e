"""What the last doubling of training brought and what the next will bring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from planner.errors import PlannerError
from planner.scaling.forms import FloatArray
from planner.scaling.laws import Law, choose_law, positive
from planner.scaling.two_powers import loss_function, two_powers

THRESHOLD = 0.015  # gain of a doubling, as a share of the loss, under which more is not worth it


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginal:
    """Gains are shares of the loss at `tokens`: 0.02 means that the loss is 2 % lower."""

    tokens: float
    last_doubling: float  # gain from tokens/2 to tokens
    next_doubling: float  # gain from tokens to 2·tokens
    threshold: float
    stop_tokens: float  # first tokens after which the next doubling gains less than threshold
    stop_tokens_seen: float  # first tokens at which the doubling just seen gained less


def marginal_gain(
    *,
    params: float,
    tokens: float,
    threshold: float = THRESHOLD,
    law: str | Law | None = None,
    conditions: Mapping[str, float] | None = None,
) -> Marginal:
    """Gains of doubling the data of a model of fixed size, and where they fall below `threshold`.

    The forecast rule stops once the *next* doubling would bring less; a log shows only the last
    one, which falls below the threshold at twice the tokens.

    >>> stop = marginal_gain(params=1e9, tokens=20e9).stop_tokens
    >>> 180 < stop / 1e9 < 200
    True
    """
    if not 0 < threshold < 1:
        raise PlannerError("threshold", threshold, "must be between 0 and 1, e.g. 0.015")
    given = dict(conditions or {})
    chosen = choose_law(law, given)

    def gain(at: FloatArray) -> FloatArray:
        share: FloatArray = chosen.loss(params, 2 * at, **given) / chosen.loss(params, at, **given)
        return 1 - share

    closed, loss_of = two_powers(chosen, given), loss_function(chosen, given)
    size, data = float(positive("params", params)), float(positive("tokens", tokens))
    stop = closed.stop_tokens(size, threshold) if closed else _first_below(gain, threshold)
    half, here, double = (loss_of(size, factor * data) for factor in (0.5, 1.0, 2.0))
    return Marginal(
        tokens=tokens,
        last_doubling=1 - here / half,
        next_doubling=1 - double / here,
        threshold=threshold,
        stop_tokens=stop,
        stop_tokens_seen=2 * stop,
    )


def _first_below(gain: Callable[[FloatArray], FloatArray], threshold: float) -> float:
    """Smallest tokens from 1e3 up after which the gain stays below `threshold`."""
    low, high = np.log(1e3), np.log(1e24)
    for _ in range(6):
        grid = np.linspace(low, high, 200)
        above = np.flatnonzero(gain(np.exp(grid)) >= threshold)
        if not len(above):
            return float(np.exp(low))
        last = int(above[-1])
        low, high = grid[last], grid[min(last + 1, len(grid) - 1)]
    return float(np.exp(high))
