"""Constants of one run's curve: what the run shows, completed by what other runs showed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.scaling.curves.annealing import Prior, losses, observed_noise
from planner.scaling.curves.schedule import Floats, Schedule

FEWEST_BINS = 5
_LARGEST_SPREAD = 0.04  # relative, of the losses around the curve
_BIN_WIDTH = 0.02  # of the logarithm of steps
_SCALES = np.array([1.0, 0.3, 0.1, 0.3, 0.3, 0.1, 0.1])  # typical steps of the constants
_LEAST_AMPLITUDE = 0.02
_WIDEST = 12.0  # of the logarithm of losses: no curve within the bounds of its amplitude falls more
_LOWEST = np.array([0.0, -12.0, 0.02, -12.0, -20.0, 0.05, -1.0])  # bounds of the constants
_HIGHEST = np.array([np.inf, 12.0, 2.0, 3.0, 20.0, 3.0, 3.0])
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


def fit_curve(
    steps: Floats, observed: Floats, schedule: Schedule, prior: Prior
) -> FittedCurve | None:
    """The constants that best explain `observed` losses and the prior together.

    None where fewer than five separate parts of the run are seen (in log steps), or where the
    losses follow no curve of this form (a run full of spikes, one that got worse).
    """
    from scipy.optimize import least_squares

    roughness = _roughness(observed)
    steps, observed, counts = _binned(steps, observed)
    if len(steps) < FEWEST_BINS or np.ptp(np.log(observed)) > _WIDEST:
        return None
    scale = float(observed[-1])
    observed = observed / scale
    relative, points = observed_noise()
    noise = np.maximum(relative, roughness / np.sqrt(counts))
    emphasis = np.sqrt(steps / steps[-1]) * np.sqrt(min(1.0, points / len(steps)))

    def misfits(constants: Floats) -> Floats:
        curve = losses(constants, schedule, steps)
        seen = (curve / observed - 1.0) / noise * emphasis
        return np.concatenate((seen, ((constants - prior.mean) / prior.deviation)[1:]))

    found = least_squares(
        misfits,
        np.clip(_start(steps, observed, schedule, prior), _LOWEST + 1e-6, _HIGHEST - 1e-6),
        bounds=(_LOWEST, _HIGHEST),
        loss="soft_l1",
        x_scale=_SCALES,
        max_nfev=_MOST_EVALUATIONS,
    )
    seen = found.fun[: len(steps)] * noise / emphasis
    spread = float(np.sqrt(np.mean(seen**2)))
    if spread > _LARGEST_SPREAD:
        return None
    slopes = np.asarray(found.jac, dtype=np.float64)
    covariance = np.asarray(np.linalg.pinv(slopes.T @ slopes), dtype=np.float64)
    return FittedCurve(
        scale=scale,
        constants=found.x,
        covariance=covariance,
        noise=spread,
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


def _binned(steps: Floats, observed: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean steps, median losses and counts of bins of equal width in log steps.

    The median keeps spikes out; equal width keeps a dense stretch from outvoting the rest.
    """
    bins = np.floor(np.log(steps) / _BIN_WIDTH)
    starts = np.flatnonzero(np.diff(bins, prepend=-np.inf) > 0)
    counts = np.diff(np.append(starts, len(steps))).astype(np.float64)
    middle = np.add.reduceat(steps, starts) / counts
    losses_ = [float(np.median(part)) for part in np.split(observed, starts[1:])]
    return middle, np.array(losses_), counts


def _roughness(observed: Floats) -> float:
    """Relative deviation of the losses from the line through their neighbours."""
    if len(observed) < 5:
        return 0.0
    with np.errstate(over="ignore"):  # an absurd spike is infinitely rough, which medians bear
        bends = observed[1:-1] - 0.5 * observed[:-2] - 0.5 * observed[2:]
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
