"""The rest of a run's loss curve, with a fan, and what a decay now would give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.scaling.curves.annealing import Prior, law_deviation, published_prior
from planner.scaling.curves.fitting import FittedCurve, fit_curve
from planner.scaling.curves.schedule import Floats, Schedule

FEWEST_POINTS = 5  # after warm-up; fewer do not show a curve
_FAN_POINTS = 33
_QUANTILE_90 = 1.2816  # of the normal distribution: bounds of 80 %
_TRANSIENT_SHARE = 0.03  # of the steps seen: too early to follow the law
_DECAY_NOW_SHARE = 0.15  # of the steps done: length of a decay begun now


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveForecast:
    """Where a run is going. `low` and `high` bound 80 %."""

    curve: FittedCurve
    schedule: Schedule
    schedule_aware: bool  # False: the schedule is unknown, taken as constant
    last_step: float  # of the observed losses
    steps: Floats  # [n], from the last observed step to the end of the schedule
    middle: Floats  # [n], loss
    low: Floats  # [n]
    high: Floats  # [n]
    decay_now_steps: float | None  # length of a decay to zero that begins now
    decay_now_loss: float | None  # and the loss at its end

    @property
    def final_loss(self) -> float:
        return float(self.middle[-1])

    @property
    def final_low(self) -> float:
        return float(self.low[-1])

    @property
    def final_high(self) -> float:
        return float(self.high[-1])

    def matched_loss(self, total_steps: float) -> float:
        """Final loss of a run of that many steps with the same shape of schedule."""
        stretched = self.schedule.stretched(total_steps)
        return float(self.curve.losses(stretched, np.array([total_steps]))[0])


def forecast_curve(
    steps: Floats,
    observed: Floats,
    schedule: Schedule,
    *,
    schedule_aware: bool = True,
    prior: Prior | None = None,
) -> CurveForecast | None:
    """Fit the observed part, follow the schedule to its end.

    None where too few points are seen, or where they follow no loss curve.

    `steps` and `observed` [n] are positive losses in the order of the run; `schedule` covers the
    whole planned run.
    """
    steps, observed = _settled(steps, observed, schedule)
    if len(steps) < FEWEST_POINTS:
        return None
    curve = fit_curve(steps, observed, schedule, prior or published_prior())
    if curve is None:
        return None
    last = float(steps[-1])
    ahead = np.linspace(last, max(schedule.total_steps, last), _FAN_POINTS)
    middle = curve.losses(schedule, ahead)
    half = _QUANTILE_90 * _deviations(curve, schedule, ahead, last, schedule_aware)
    length, decayed = _decay_now(curve, schedule, last)
    return CurveForecast(
        curve=curve,
        schedule=schedule,
        schedule_aware=schedule_aware,
        last_step=last,
        steps=ahead,
        middle=middle,
        low=np.maximum(middle - half, 0.0),
        high=middle + half,
        decay_now_steps=length,
        decay_now_loss=decayed,
    )


def _settled(steps: Floats, observed: Floats, schedule: Schedule) -> tuple[Floats, Floats]:
    """Without the warm-up and the steep start, which no power law describes."""
    peak = float(schedule.steps[int(np.argmax(schedule.rates >= 1.0 - 1e-6))])
    later = steps >= max(peak, _TRANSIENT_SHARE * steps[-1] if len(steps) else 0.0)
    later &= (steps > 0) & (observed > 0)
    return steps[later], observed[later]


def _deviations(
    curve: FittedCurve, schedule: Schedule, ahead: Floats, last: float, schedule_aware: bool
) -> Floats:
    doublings = np.log2(ahead / last)
    law = np.array([law_deviation(float(d), aware=schedule_aware) for d in doublings])
    return np.asarray(
        np.hypot(curve.deviations(schedule, ahead), law * curve.losses(schedule, ahead))
    )


def _decay_now(
    curve: FittedCurve, schedule: Schedule, last: float
) -> tuple[float | None, float | None]:
    """Length and final loss of a straight decay to zero from here; None where the rate is there."""
    if schedule.rate(last) < 0.05:
        return None, None
    length = _DECAY_NOW_SHARE * last
    path = schedule.until(last).then(last + length, 0.0)
    return length, float(curve.losses(path, np.array([last + length]))[0])
