"""Measured widths of forecasts: between recipes, between runs, and beyond the fitted range."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from statistics import NormalDist
from typing import Any

LEVEL = 0.8  # of every interval, unless asked otherwise


def normal_quantile(level: float) -> float:
    """Half-width, in standard deviations, of the central `level` of a normal distribution.

    >>> round(normal_quantile(0.8), 4)
    1.2816
    """
    return NormalDist().inv_cdf(0.5 + level / 2)


def drift_per_decade() -> float:
    """Standard deviation of log loss that a law gains per decade of compute beyond its runs."""
    return float(_intervals()["drift"]["log_sd_per_decade"])


def run_noise() -> float:
    """Standard deviation of log loss of a single run about its family's law."""
    return float(_intervals()["run_noise"]["log_sd"])


def constants_spread() -> list[float]:
    """Standard deviation between families of (ln E, a, b, alpha, beta) at the reference point."""
    return [float(value) for value in _intervals()["constants"]["theta_sd"]]


def foreign_recipe(law: str) -> float:
    """Standard deviation of log loss of `law` on another publication's runs.

    Measured on five to eight families; a law that could not be tested (mixture of experts) gets
    the largest value of those that could.
    """
    measured = _foreign()
    return measured.get(law, max(measured.values()))


@cache
def _intervals() -> dict[str, Any]:
    return tomllib.loads(_read("intervals.toml"))


@cache
def _foreign() -> dict[str, float]:
    rows = [line.split(",") for line in _read("foreign.csv").split()[1:]]
    return {name: float(log_rms) for name, _, log_rms in rows}


def _read(filename: str) -> str:
    return (resources.files("planner.scaling") / "data" / filename).read_text("utf-8")
