"""Least squares in numpy: the few parameters of a curve, without a library of optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_STEP = 1e-5  # of the numerical derivative, in the parameters' own (logarithmic) unit
_ROUNDS = 60
_SMALL = 1e-7  # relative improvement under which it ends


def least_squares(residuals: Callable[[Array], Array], start: Array) -> Array:
    """Parameters that minimise the sum of squares of `residuals`, from `start` (Levenberg 1944,
    Marquardt 1963).

    >>> x = np.array([1.0, 2.0, 3.0])
    >>> found = least_squares(lambda p: p[0] + p[1] * x - (1 + 2 * x), np.zeros(2))
    >>> [round(float(each), 4) for each in found]
    [1.0, 2.0]
    """
    point = np.array(start, dtype=np.float64)
    error = residuals(point)
    damping = 1e-2
    for _ in range(_ROUNDS):
        slopes = _jacobian(residuals, point, error)
        normal, gradient = slopes.T @ slopes, slopes.T @ error
        scale = damping * (np.diag(normal) + 1e-9)
        move = np.linalg.solve(normal + np.diag(scale), -gradient)
        tried = residuals(point + move)
        before, after = float(error @ error), float(tried @ tried)
        if np.isfinite(after) and after < before:
            point, error, damping = point + move, tried, damping / 3
            if before - after <= _SMALL * before:
                break
        else:
            damping *= 4
            if damping > 1e12:
                break
    return point


def _jacobian(residuals: Callable[[Array], Array], point: Array, error: Array) -> Array:
    columns = []
    for i in range(len(point)):
        moved = point.copy()
        moved[i] += _STEP
        columns.append((residuals(moved) - error) / _STEP)
    return np.stack(columns, axis=1)
