"""Constants of one run's curve: what the run shows, completed by what other runs showed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.scaling.curves.annealing import Prior, losses, observed_noise
from planner.scaling.curves.schedule import Floats, Schedule

_MOST_POINTS = 200  # a denser curve is averaged into that many
_SCALES = np.array([1.0, 0.3, 0.1, 0.3, 0.3, 0.1, 0.1])  # typical steps of the constants
_LEAST_AMPLITUDE = 0.02
_MOST_EVALUATIONS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedCurve:
    """The most likely constants and their covariance. The offset is no irreducible loss."""

    scale: float  # loss that the constants are relative to
    constants: Floats  # [7], in the order of annealing.NAMES
    covariance: Floats  # [7, 7]
    noise: float  # relative deviation of the observed losses from the curve

    def losses(self, schedule: Schedule, steps: Floats) -> Floats:
        """The curve under any schedule."""
        return self.scale * losses(self.constants, schedule, steps)

    def deviations(self, schedule: Schedule, steps: Floats) -> Floats:
        """Standard deviation of the curve at `steps` [n], from the doubt about its constants."""
        slopes = _slopes(self.constants, schedule, steps)
        variance = np.einsum("ni,ij,nj->n", slopes, self.covariance, slopes)
        return np.asarray(self.scale * np.sqrt(variance))


def fit_curve(steps: Floats, observed: Floats, schedule: Schedule, prior: Prior) -> FittedCurve:
    """The constants that best explain `observed` losses and the prior together."""
    from scipy.optimize import least_squares

    steps, observed, counts = _averaged(steps, observed)
    scale = float(observed[-1])
    observed = observed / scale
    relative, points = observed_noise()
    noise = max(relative, _roughness(observed) / np.sqrt(counts.mean()))
    emphasis = np.sqrt(steps / steps[-1]) * np.sqrt(min(1.0, points / len(steps)))

    def misfits(constants: Floats) -> Floats:
        curve = losses(constants, schedule, steps)
        seen = (curve / observed - 1.0) / noise * emphasis
        return np.concatenate((seen, ((constants - prior.mean) / prior.deviation)[1:]))

    found = least_squares(
        misfits,
        _start(steps, observed, schedule, prior),
        loss="soft_l1",
        x_scale=_SCALES,
        max_nfev=_MOST_EVALUATIONS,
    )
    seen = found.fun[: len(steps)] * noise / emphasis
    covariance = np.linalg.pinv(found.jac.T @ found.jac)
    return FittedCurve(
        scale=scale,
        constants=found.x,
        covariance=covariance,
        noise=float(np.sqrt(np.mean(seen**2))),
    )


def _start(steps: Floats, observed: Floats, schedule: Schedule, prior: Prior) -> Floats:
    """The prior's shape, with offset and amplitude by linear least squares."""
    constants = prior.mean.copy()
    constants[0] = 0.0
    shape = losses(constants, schedule, steps)
    columns = np.column_stack((np.ones_like(shape), shape))
    offset, scale = np.linalg.lstsq(columns, observed, rcond=None)[0]
    constants[0] = offset
    constants[1] += np.log(max(float(scale), _LEAST_AMPLITUDE))
    return constants


def _averaged(steps: Floats, observed: Floats) -> tuple[Floats, Floats, Floats]:
    if len(steps) <= _MOST_POINTS:
        return steps, observed, np.ones(len(steps))
    starts = np.unique(np.linspace(0, len(steps), _MOST_POINTS + 1).astype(int)[:-1])
    counts = np.diff(np.append(starts, len(steps))).astype(np.float64)
    mean = [np.add.reduceat(values, starts) / counts for values in (steps, observed)]
    return mean[0], mean[1], counts


def _roughness(observed: Floats) -> float:
    """Relative deviation of the losses from the line through their neighbours."""
    if len(observed) < 5:
        return 0.0
    bends = observed[1:-1] - 0.5 * (observed[:-2] + observed[2:])
    later = bends[len(bends) // 2 :] / observed[1:-1][len(bends) // 2 :]
    return float(1.4826 * np.median(np.abs(later)) / np.sqrt(1.5))


def _slopes(constants: Floats, schedule: Schedule, steps: Floats) -> Floats:
    """Derivatives of the curve by its constants, [n, 7]."""
    columns = []
    for index, scale in enumerate(_SCALES * 1e-3):
        up, down = constants.copy(), constants.copy()
        up[index] += scale
        down[index] -= scale
        rise = losses(up, schedule, steps) - losses(down, schedule, steps)
        columns.append(rise / (2.0 * scale))
    return np.column_stack(columns)
