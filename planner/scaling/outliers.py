"""Runs that a fitted law misses by far more than the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.scaling.fit import Fit

LIMIT = 8.0  # robust standard deviations; of normal residuals one in 1e15 lies beyond
NORMAL = 1.4826  # median absolute deviation to standard deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlier:
    """A run that the law cannot explain."""

    position: int  # of the run, from 0
    params: float
    tokens: float
    loss: float  # nats per token, observed
    predicted: float  # nats per token
    deviations: float  # |residual| in robust standard deviations


def outliers(fit: Fit, *, limit: float = LIMIT) -> list[Outlier]:
    """Runs further than `limit` robust standard deviations from the fit, worst first."""
    scale = NORMAL * float(np.median(np.abs(fit.residuals)))
    if scale == 0:
        return []
    deviations = np.abs(fit.residuals) / scale
    found = np.flatnonzero(deviations > limit)
    runs = fit.runs
    return [
        Outlier(
            position=int(i),
            params=float(runs.params[i]),
            tokens=float(runs.tokens[i]),
            loss=float(runs.losses[i]),
            predicted=float(runs.losses[i] * np.exp(fit.residuals[i])),
            deviations=float(deviations[i]),
        )
        for i in found[np.argsort(-deviations[found])]
    ]
