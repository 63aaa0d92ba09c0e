"""How wide an answer is: spreads measured over sources that the constants were not fitted to."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from planner.engine.assumptions import assumed

Array = np.ndarray[Any, np.dtype[Any]]

FILE = Path(__file__).parent.parent / "engine" / "data" / "intervals.json"

Z80 = 1.2815515655446004  # standard normal quantile of 90 %: bounds 80 % with its mirror


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A log-normal spread: `sigma` is the standard deviation of the logarithm."""

    sigma: float

    def bounds(self, value: float) -> tuple[float, float]:
        """(low, high) that hold 80 %.

        >>> low, high = Spread(sigma=0.2).bounds(10.0)
        >>> round(low, 2), round(high, 2)
        (7.74, 12.92)
        """
        factor = math.exp(Z80 * self.sigma)
        return value / factor, value * factor

    def high_of(self, values: Array) -> Array:
        """Upper bounds, those that 90 % of the truths stay under, of an array of values."""
        return values * math.exp(Z80 * self.sigma)

    def below(self, value: float, limit: float) -> float:
        """Probability that the truth is at most `limit` when `value` is predicted."""
        if limit <= 0 or value <= 0:
            return 0.0 if value > limit else 1.0
        return 0.5 * (1 + math.erf(math.log(limit / value) / (self.sigma * math.sqrt(2))))


@cache
def _table() -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = json.loads(FILE.read_text(encoding="utf-8"))
    return table


def table(kind: str) -> dict[str, float]:
    """Base deviation and what each doubt adds, for `time` or `memory`."""
    return _table()[kind]


def time_spread(doubts: tuple[str, ...]) -> Spread:
    """Spread of a step time; each doubt (a thin piece of evidence) widens it."""
    return _spread("time", doubts, {"laptop_power": assumed("laptop_power_deviation")})


def run_bounds(total: float, step: float, step_high: float) -> tuple[float, float]:
    """(low, high) of a whole run's duration that hold 80 %.

    The step's spread, and what published totals deviate beyond it: restarts, idle time and changes
    on the way, which no plan states. Both are independent and add in squares.
    """
    beyond = _table()["run"]["beyond_step"]
    sigma = math.hypot(math.log(step_high / step) / Z80, beyond)
    return Spread(sigma=sigma).bounds(total)


def memory_spread(doubts: tuple[str, ...]) -> Spread:
    """Spread of a peak memory."""
    return _spread("memory", doubts)


def _spread(
    kind: str, doubts: tuple[str, ...], stated: Mapping[str, float] | None = None
) -> Spread:
    """Independent doubts add in squares; `stated` are those that no published run measures."""
    row = {**(stated or {}), **_table()[kind]}
    squares = row["base"] ** 2 + sum(row.get(doubt, 0.0) ** 2 for doubt in doubts)
    return Spread(sigma=math.sqrt(squares))
