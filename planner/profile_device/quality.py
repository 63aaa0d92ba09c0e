"""How far a profile errs on products that it was not shown: each left out in turn."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.profile_device.figures import Figures
from planner.profile_device.products import PASSES, ProductCurve, fit_products

FEWEST = 12  # shapes under which no error is stated


def left_out(figures: Figures) -> dict[str, dict[str, float]]:
    """By format: median and 90th percentile of |predicted/measured − 1|, and the shapes tried."""
    found: dict[str, dict[str, float]] = {}
    for number_format, curve in figures.products.items():
        if len(curve.shapes.m) < FEWEST:
            continue
        errors = left_out_errors(curve)
        found[number_format] = {
            "median": float(np.median(errors)),
            "p90": float(np.quantile(errors, 0.9)),
            "n": len(errors),
        }
    return found


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
