"""How far a profile errs on products that it was not shown: each left out in turn."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from planner.profile_device.figures import Figures
from planner.profile_device.products import PASSES, ProductCurve, fit_products

FILE = Path(__file__).parent / "data" / "step_error.json"
PARALLEL_FILE = FILE.with_name("parallel_error.json")
FEWEST = 12  # shapes under which no error is stated
_P90 = 1.6448536269514722  # standard deviations that hold 90 %


@cache
def step_sigma() -> float:
    """How far a step lies from its plan by profile: standard deviation of the logarithm, beyond
    what the curves err by. From `benchmarks.profile_steps`, with its origin in the file."""
    return float(json.loads(FILE.read_text(encoding="utf-8"))["sigma"])


@cache
def parallel_sigma() -> float:
    """The same of a step of several processes, with the collectives of their profile. From
    `benchmarks.profile_parallel`, with its origin in the file."""
    return float(json.loads(PARALLEL_FILE.read_text(encoding="utf-8"))["sigma"])


def left_out(figures: Figures) -> dict[str, dict[str, float]]:
    """By format: median and 90th percentile of |predicted/measured − 1|, and the shapes tried."""
    found = {name: left_out_of(figures, name) for name in figures.products}
    return {name: row for name, row in found.items() if row is not None}


def left_out_of(figures: Figures, number_format: str) -> dict[str, float] | None:
    """The same of one format; None where it was measured at too few shapes."""
    curve = figures.products[number_format]
    if len(curve.shapes.m) < FEWEST:
        return None
    errors = left_out_errors(curve)
    return {
        "median": float(np.median(errors)),
        "p90": float(np.quantile(errors, 0.9)),
        "n": len(errors),
    }


def sigma_of(row: Mapping[str, float]) -> float:
    """Standard deviation of the logarithm that the 90th percentile of the errors stands for.

    >>> round(sigma_of({"p90": 0.2, "median": 0.1, "n": 30}), 3)
    0.111
    """
    return math.log1p(row["p90"]) / _P90


def left_out_errors(curve: ProductCurve) -> np.ndarray[Any, np.dtype[Any]]:
    """|predicted/measured − 1| of every shape, by the curve refitted without it, (n,)."""
    shapes = curve.shapes
    errors = []
    for i in range(len(shapes.m)):
        refitted = fit_products(shapes.without(i), curve.element_bytes, begin=curve.parameters)
        way = PASSES[int(shapes.way[i])]
        predicted = float(refitted.seconds(shapes.m[i], shapes.n[i], shapes.k[i], way))
        errors.append(abs(predicted / shapes.seconds[i] - 1))
    return np.array(errors)
