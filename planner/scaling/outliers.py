"""What a fitted law misses: single runs far off, and trends with compute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.scaling.fit import Fit

LIMIT = 8.0  # robust standard deviations; of normal residuals one in 1e15 lies beyond
SMALLEST_SCALE = 1e-6  # of log loss: below it every residual is rounding
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
    free = max(len(fit.runs) - fit.surface.num_constants, 1)  # the others can be met exactly
    scale = NORMAL * float(np.median(np.sort(np.abs(fit.residuals))[-free:]))
    if scale < SMALLEST_SCALE:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualBand:
    """Residuals ln(predicted/observed) of the runs in one band of compute."""

    flops_low: float
    flops_high: float
    num_runs: int
    bias: float  # median residual; a trend across bands means that the form does not fit
    spread: float  # 80 % of the runs lie within this of zero


def residual_bands(fit: Fit, *, count: int = 4) -> list[ResidualBand]:
    """Residuals in `count` bands of compute with as many runs each, smallest compute first."""
    order = np.argsort(fit.runs.flops, kind="stable")
    return [
        ResidualBand(
            flops_low=float(fit.runs.flops[chosen].min()),
            flops_high=float(fit.runs.flops[chosen].max()),
            num_runs=len(chosen),
            bias=float(np.median(fit.residuals[chosen])),
            spread=float(np.quantile(np.abs(fit.residuals[chosen]), 0.8)),
        )
        for chosen in np.array_split(order, count)
        if len(chosen)
    ]
