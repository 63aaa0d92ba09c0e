"""What overrules a marginal gain: broken runs, overfitting, no learning at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.scaling.logs.training_log import Floats, Series
from planner.scaling.stopping.levels import Levels

RISES_IN_A_ROW = 3  # evaluations of a held-out metric
_FEWEST_NONFINITE = 2  # at the end of a log; a single one may be a skipped step
_EXCESS_OF_BEST = 0.15  # above the best level: no ordinary fluctuation
_EXCESS_OF_PROGRESS = 0.1  # of all that was gained since the start
_ABRUPT_SHARE = 0.4  # of a rise within one interval: a jump, not a drift
_NOISES = 3.0  # a change has to exceed
_LEAST_RISE = 0.002  # of the level: less is no overfitting worth a stop
_SETTLED_POINTS = 3  # the level after a jump, at least
_SETTLED_SHARE = 0.01  # of the points


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A guard that fired."""

    verdict: str  # diverged or stop
    reason: str
    best_step: float  # the step to go back to


def not_finite(series: Series, levels: Levels) -> Finding | None:
    """NaN or infinity that stays."""
    if series.trailing_nonfinite < _FEWEST_NONFINITE:
        return None
    return Finding(
        verdict="diverged",
        reason=f"{series.name}: the last {series.trailing_nonfinite} values are NaN or infinite",
        best_step=_best_step(levels),
    )


def jump(levels: Levels, name: str, *, abrupt_only: bool) -> Finding | None:
    """A rise far above the best level that does not come back."""
    smooth = _medians(levels.values)
    if len(smooth) < _SETTLED_POINTS + 1:
        return None
    settled = max(_SETTLED_POINTS, int(_SETTLED_SHARE * len(smooth)))
    best = int(np.argmin(smooth[: -settled + 1]))
    excess = float(levels.values[-settled:].min() - smooth[best])
    progress = float(smooth[:2].max() - smooth[best])
    limit = max(
        _EXCESS_OF_BEST * abs(smooth[best]), _EXCESS_OF_PROGRESS * progress, _NOISES * levels.noise
    )
    if excess <= limit:
        return None
    climb = np.diff(levels.values[best:])
    if abrupt_only and climb.max() < _ABRUPT_SHARE * excess:
        return None
    return Finding(
        verdict="diverged",
        reason=(
            f"{name} rose {excess:.3g} above its best level ({abs(smooth[best]):.4g}) and did not "
            "come back"
        ),
        best_step=float(levels.steps[best]),
    )


def rising(levels: Levels, name: str) -> Finding | None:
    """A held-out metric that became worse at each of the last three evaluations."""
    last = levels.values[-RISES_IN_A_ROW - 1 :]
    if len(last) <= RISES_IN_A_ROW or not (np.diff(last) > 0).all():
        return None
    best = int(np.argmin(levels.values))
    rise = float(min(last[-1] - levels.values[best], last[-1] - last[0]))
    if rise <= max(_NOISES * levels.noise, _LEAST_RISE * abs(levels.values[best])):
        return None
    return Finding(
        verdict="stop",
        reason=(
            f"{name} became worse at each of the last {RISES_IN_A_ROW} evaluations: the run "
            f"overfits; the best was at step {levels.steps[best]:g}"
        ),
        best_step=float(levels.steps[best]),
    )


def risen(levels: Levels, name: str) -> Finding | None:
    """A held-out metric whose present level is above its best by more than fluctuation."""
    smooth = _medians(levels.values)
    best = int(np.argmin(smooth))
    recent = levels.values[-RISES_IN_A_ROW:]
    if len(smooth) - best <= RISES_IN_A_ROW:
        return None
    excess = float(recent.min() - smooth[best])
    limit = max(2.0 * _NOISES * levels.noise, 0.1 * _EXCESS_OF_BEST * abs(smooth[best]))
    if excess <= limit:
        return None
    return Finding(
        verdict="stop",
        reason=(
            f"the last {RISES_IN_A_ROW} evaluations of {name} are all worse than its level at step "
            f"{levels.steps[best]:g}: the run overfits"
        ),
        best_step=float(levels.steps[best]),
    )


def _best_step(levels: Levels) -> float:
    return float(levels.steps[int(np.argmin(levels.values))]) if len(levels) else 0.0


def _medians(values: Floats) -> Floats:
    """Running median of three, so that one lucky point is no level."""
    if len(values) < 3:
        return values
    triples = np.stack((values[:-2], values[1:-1], values[2:]))
    return np.concatenate((values[:1], np.median(triples, axis=0), values[-1:]))
