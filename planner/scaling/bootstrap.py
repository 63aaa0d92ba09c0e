"""How sure a fitted law is: bootstrap draws of its constants, intervals of its forecasts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.errors import PlannerError
from planner.scaling.fit import Fit, polish
from planner.scaling.forms import FloatArray
from planner.scaling.identify import require_identifiable
from planner.scaling.laws import Law
from planner.scaling.widths import LEVEL, drift_per_decade, normal_quantile

REFIT_TOLERANCE = 1e-8  # far inside the spread of the draws
NOISE_DRAWS = 8  # residuals drawn for each draw of the constants


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """A forecast loss with its interval; arrays of shape (points,), nats per token."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedLaw:
    """A fit and what resampling its runs says about it."""

    fit: Fit
    thetas: FloatArray  # shape (draws, constants)
    seed: int

    def constant_intervals(self, *, level: float = LEVEL) -> dict[str, tuple[float, float]]:
        """Interval of each constant that holds `level` of the draws."""
        draws = [self.fit.surface.constants(theta) for theta in self.thetas]
        tails = (0.5 - level / 2, 0.5 + level / 2)
        return {
            name: _pair(np.quantile([draw[name] for draw in draws], tails))
            for name in self.fit.constants
        }

    def forecast(self, params: FloatArray, tokens: FloatArray, *, level: float = LEVEL) -> Forecast:
        """Loss of runs not seen, with an interval for a single run of the same family.

        Three things widen it: the constants (bootstrap), the scatter of single runs (residuals,
        corrected for the constants spent), and drift of the law beyond the largest compute fitted.
        """
        samples = self._log_samples(params, tokens)
        low, high = np.exp(np.quantile(samples, (0.5 - level / 2, 0.5 + level / 2), axis=0))
        value = self.fit.predict(params, tokens)
        return Forecast(value=value, low=np.minimum(low, value), high=np.maximum(high, value))

    def as_law(self, *, name: str = "fitted") -> Law:
        """The fit as a law whose draws carry its uncertainty into an allocation."""
        draws = [self.fit.surface.constants(theta) for theta in self.thetas]
        published = self.fit.as_law(name=name)
        columns = {key: np.array([draw[key] for draw in draws]) for key in published.constants}
        finite = np.isfinite(np.stack(list(columns.values()))).all(axis=0)
        scatter = float(np.quantile(np.abs(self.fit.residuals), LEVEL)) * _spent(self.fit)
        return replace(
            published,
            draws={key: column[finite] for key, column in columns.items()},
            noise=scatter / normal_quantile(LEVEL),
        )

    def _log_samples(self, params: FloatArray, tokens: FloatArray) -> FloatArray:
        generator = np.random.default_rng(self.seed)
        surface, fit = self.fit.surface, self.fit
        means = np.stack([surface.log_loss(theta, params, tokens) for theta in self.thetas])
        shape = (NOISE_DRAWS, *means.shape)
        scatter = generator.choice(fit.residuals, shape) * _spent(fit)
        decades = np.log10(np.maximum(6 * params * tokens / fit.runs.flops.max(), 1.0))
        drift = generator.standard_normal((*shape[:2], 1)) * decades * drift_per_decade()
        samples: FloatArray = means - scatter + drift
        return samples.reshape(-1, len(params))


def bootstrap(fit: Fit, *, count: int = 200, seed: int = 0) -> FittedLaw:
    """Refit `count` resamples of the runs, each from the full fit's optimum.

    Resamples that cannot identify the law are drawn again. The same seed gives the same draws.
    """
    if count < 20:
        raise PlannerError("bootstrap", count, "at least 20 draws")
    generator = np.random.default_rng(seed)
    thetas = [_refit(fit, generator) for _ in range(count)]
    return FittedLaw(fit=fit, thetas=np.stack(thetas), seed=seed)


def _refit(fit: Fit, generator: np.random.Generator) -> FloatArray:
    for _ in range(50):
        chosen = fit.runs.take(generator.integers(0, len(fit.runs), len(fit.runs)))
        try:
            require_identifiable(chosen, num_constants=0)
        except PlannerError:
            continue
        near = polish(
            fit.surface, chosen, fit.theta, tolerance=REFIT_TOLERANCE, max_evaluations=100
        )
        return near.theta
    raise PlannerError("bootstrap", len(fit.runs), "too few distinct runs to resample")


def _spent(fit: Fit) -> float:
    runs, constants = len(fit.runs), fit.surface.num_constants
    return float(np.sqrt(runs / (runs - constants)))


def _pair(values: FloatArray) -> tuple[float, float]:
    return float(values[0]), float(values[1])
