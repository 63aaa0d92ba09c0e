"""Fit a law to a family's own runs: variable projection for the starts, Huber loss to the end."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from planner.errors import PlannerError, nearest
from planner.scaling.forms import FloatArray
from planner.scaling.identify import require_identifiable, require_trend
from planner.scaling.laws import Law
from planner.scaling.runs import Runs
from planner.scaling.surface import FITTED_FORMS, SUM_OF_POWERS, Surface, surface_of

HUBER_DELTA = 1e-3  # of log loss: arXiv:2203.15556, appendix D.2
EXPONENTS = (0.1, 0.2, 0.3, 0.45, 0.65, 0.9, 1.2)  # grid of alpha and of beta for the starts
POWERS = (0.4, 0.7, 1.0)  # starts of k in the power of a sum
NUM_STARTS = 6  # best starts that are polished
LOWEST = (-7.0, -40.0, -40.0, 0.01, 0.01, -2.5)  # bounds of theta
HIGHEST = (4.0, 40.0, 40.0, 4.0, 4.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fitted law before its intervals: where the surface came to rest and what it missed."""

    surface: Surface
    theta: FloatArray  # shape (constants,)
    objective: float  # Huber loss of log-loss residuals, summed over runs
    residuals: FloatArray  # ln(predicted / observed) of each run, shape (runs,)
    runs: Runs

    @property
    def constants(self) -> dict[str, float]:
        """E, A, alpha, B, beta (and k), nats per token."""
        return self.surface.constants(self.theta)

    @property
    def at_bound(self) -> list[str]:
        """Constants that ended at the edge of their allowed range: the runs do not fix them."""
        names = ("E", "A", "B", "alpha", "beta", "k")
        return [
            names[i]
            for i, value in enumerate(self.theta)
            if min(value - LOWEST[i], HIGHEST[i] - value) < 1e-3
        ]

    def predict(self, params: FloatArray, tokens: FloatArray) -> FloatArray:
        """Loss in nats per token, shape (points,)."""
        return np.exp(self.surface.log_loss(self.theta, params, tokens))

    def as_law(self, *, name: str = "fitted") -> Law:
        """The fit as a law like the published ones, with the runs' own range."""
        return Law(
            name=name,
            title=f"fitted to {len(self.runs)} runs",
            form=self.surface.form,
            constants=self.constants,
            counts="as-given",
            ranges={
                "params": _range(self.runs.params),
                "tokens": _range(self.runs.tokens),
                "flops": _range(self.runs.flops),
            },
            data="the fitted runs",
            source=f"{len(self.runs)} runs, Huber loss {HUBER_DELTA} on log loss",
            read="fit",
        )


def fit_runs(
    runs: Runs,
    *,
    form: str = SUM_OF_POWERS,
    delta: float = HUBER_DELTA,
    starts: list[FloatArray] | None = None,
) -> Fit:
    """The law of `form` nearest to the runs: Huber loss on log loss, summed (not averaged).

    Starts come from a grid of exponents, for each of which E, A and B are a non-negative least
    squares problem; the best are polished by a trust-region method with exact derivatives.
    Raises PlannerError when the runs cannot identify the law.
    """
    if form not in FITTED_FORMS:
        close = nearest(form, FITTED_FORMS) or FITTED_FORMS
        raise PlannerError("form", form, f"one of {', '.join(close)}")
    surface = surface_of(runs.params, runs.tokens, form=form)
    require_identifiable(runs, num_constants=surface.num_constants)
    require_trend(runs)
    polished = [
        polish(surface, runs, start, delta=delta) for start in starts or grid_starts(surface, runs)
    ]
    return min(polished, key=lambda fit: fit.objective)


def polish(
    surface: Surface,
    runs: Runs,
    start: FloatArray,
    *,
    delta: float = HUBER_DELTA,
    tolerance: float = 1e-12,
    max_evaluations: int = 500,
) -> Fit:
    """The local optimum from `start`, to a relative `tolerance` of constants and objective."""
    from scipy.optimize import least_squares

    size = surface.num_constants
    low, high = np.array(LOWEST[:size]), np.array(HIGHEST[:size])
    observed = np.log(runs.losses)

    def residuals(theta: FloatArray) -> FloatArray:
        return surface.log_loss(theta, runs.params, runs.tokens) - observed

    def jacobian(theta: FloatArray) -> FloatArray:
        return surface.jacobian(theta, runs.params, runs.tokens)

    result = least_squares(
        residuals,
        np.clip(start, low + 1e-6, high - 1e-6),
        jac=jacobian,
        bounds=(low, high),
        loss="huber",
        f_scale=delta,
        x_scale="jac",
        xtol=tolerance,
        ftol=tolerance,
        gtol=tolerance,
        max_nfev=max_evaluations,
    )
    return Fit(
        surface=surface,
        theta=result.x,
        objective=float(result.cost),
        residuals=residuals(result.x),
        runs=runs,
    )


def grid_starts(surface: Surface, runs: Runs) -> list[FloatArray]:
    """The `NUM_STARTS` best of the exponent grid, by relative squared error."""
    from scipy.optimize import nnls

    found = []
    for alpha, beta in itertools.product(EXPONENTS, EXPONENTS):
        terms = [
            np.ones_like(runs.params),
            (runs.params / surface.centre_params) ** -alpha,
            (runs.tokens / surface.centre_tokens) ** -beta,
        ]
        weights, error = nnls(np.stack(terms, axis=1) / runs.losses[:, None], np.ones(len(runs)))
        log_weights = np.log(np.maximum(weights, 1e-3))
        found.append((error, np.array([*log_weights, alpha, beta])))
    found.sort(key=lambda entry: entry[0])
    best = [theta for _, theta in found[:NUM_STARTS]]
    if surface.form == SUM_OF_POWERS:
        return best
    return [_raised(theta, power) for theta in best[: NUM_STARTS // 2] for power in POWERS]


def _raised(theta: FloatArray, power: float) -> FloatArray:
    """A start for the power of a sum that is near a sum of powers at the centre."""
    raised = np.array([*theta, np.log(power)])
    reducible = np.exp(theta[1]) + np.exp(theta[2])
    raised[1:3] += np.log(reducible) * (1 / power - 1)
    raised[3:5] /= power
    return raised


def _range(values: FloatArray) -> tuple[float, float]:
    return float(values.min()), float(values.max())
