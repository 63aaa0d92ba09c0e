"""The surface that a fit moves: log loss and its derivatives in centred, well-scaled coordinates.

theta = (ln E, a, b, alpha, beta[, ln k]): a and b are the logs of the two terms at the centre of
the runs, so that a change of an exponent does not drag its coefficient along a narrow valley.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.scaling.forms import FloatArray

SUM_OF_POWERS = "sum-of-powers"
POWER_OF_SUM = "power-of-sum"
FITTED_FORMS = (SUM_OF_POWERS, POWER_OF_SUM)
FLOOR = 1e-300  # keeps logs and powers of vanishing terms finite


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """A family of laws around the geometric mean of the runs' parameters and tokens."""

    form: str  # one of FITTED_FORMS
    centre_params: float  # parameters
    centre_tokens: float  # tokens

    @property
    def num_constants(self) -> int:
        return 6 if self.form == POWER_OF_SUM else 5

    def log_loss(self, theta: FloatArray, params: FloatArray, tokens: FloatArray) -> FloatArray:
        """ln L at each run, shape (runs,)."""
        size, data, power = self._terms(theta, params, tokens)
        total: FloatArray = np.exp(theta[0]) + np.maximum(size + data, FLOOR) ** power
        return np.log(total)

    def jacobian(self, theta: FloatArray, params: FloatArray, tokens: FloatArray) -> FloatArray:
        """Derivatives of ln L by theta, shape (runs, constants)."""
        size, data, power = self._terms(theta, params, tokens)
        total = np.maximum(size + data, FLOOR)
        reducible = total**power
        slope = power * reducible / total
        columns = [
            np.full_like(total, np.exp(theta[0])),
            slope * size,
            slope * data,
            -slope * size * np.log(params / self.centre_params),
            -slope * data * np.log(tokens / self.centre_tokens),
        ]
        if self.form == POWER_OF_SUM:
            columns.append(reducible * np.log(total) * power)
        loss: FloatArray = np.exp(theta[0]) + reducible
        return np.stack(columns, axis=1) / loss[:, None]

    def constants(self, theta: FloatArray) -> dict[str, float]:
        """The law's constants as papers print them; values too large for a float are inf."""
        with np.errstate(over="ignore"):
            constants = {
                "E": float(np.exp(theta[0])),
                "A": float(np.exp(theta[1] + theta[3] * np.log(self.centre_params))),
                "alpha": float(theta[3]),
                "B": float(np.exp(theta[2] + theta[4] * np.log(self.centre_tokens))),
                "beta": float(theta[4]),
            }
        if self.form == POWER_OF_SUM:
            constants["k"] = float(np.exp(theta[5]))
        return constants

    def _terms(
        self, theta: FloatArray, params: FloatArray, tokens: FloatArray
    ) -> tuple[FloatArray, FloatArray, float]:
        size = np.exp(theta[1] - theta[3] * np.log(params / self.centre_params))
        data = np.exp(theta[2] - theta[4] * np.log(tokens / self.centre_tokens))
        return size, data, float(np.exp(theta[5])) if self.form == POWER_OF_SUM else 1.0


def surface_of(params: FloatArray, tokens: FloatArray, *, form: str = SUM_OF_POWERS) -> Surface:
    """The surface centred on these runs."""
    return Surface(
        form=form,
        centre_params=float(np.exp(np.log(params).mean())),
        centre_tokens=float(np.exp(np.log(tokens).mean())),
    )
