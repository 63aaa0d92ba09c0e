"""Marginal gain: how much better the metric became for the last unit of training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.scaling.logs.training_log import Floats
from planner.scaling.stopping.clockwork import Clockwork
from planner.scaling.stopping.levels import Levels
from planner.scaling.stopping.options import StopOptions

MOST_EVALUATIONS = 128  # of a dense log, judged at evenly spaced steps
_SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A relative improvement over one unit, or the reason why it is unknown."""

    value: float | None  # share of the level before; negative: it became worse
    deviation: float  # standard deviation of `value`, from evaluation noise
    reason: str = ""  # why `value` is None

    @property
    def known(self) -> bool:
        return self.value is not None


def evaluation_steps(levels: Levels) -> Floats:
    """The steps at which the rule is applied."""
    if len(levels) <= 2 * MOST_EVALUATIONS:
        return levels.steps
    return np.linspace(levels.steps[0], levels.steps[-1], MOST_EVALUATIONS)


def gain_between(levels: Levels, start: float, end: float) -> Gain:
    """Relative improvement from `start` to `end`."""
    before, before_deviation = levels.at(start, ahead=True)
    after, after_deviation = levels.at(end)
    if before == 0.0:
        return Gain(value=None, deviation=0.0, reason="the metric was zero before")
    deviation = float(np.hypot(before_deviation, after_deviation)) / abs(before)
    return Gain(value=(before - after) / abs(before), deviation=deviation)


def gain_per_doubling(levels: Levels, clock: Clockwork, step: float) -> Gain:
    """Improvement over the last doubling of compute."""
    start = clock.half_of(step)
    if start < levels.steps[0]:
        return Gain(value=None, deviation=0.0, reason="the log does not cover a doubling yet")
    return gain_between(levels, start, step)


def gain_per_hour(levels: Levels, clock: Clockwork, step: float, hours: float) -> Gain:
    """Improvement over the last `hours`."""
    if clock.seconds_per_step is None:
        return Gain(
            value=None, deviation=0.0, reason="the log tells no time: say --seconds-per-step"
        )
    start = clock.step_before(step, hours * _SECONDS_PER_HOUR)
    if start is None or start < levels.steps[0]:
        reason = f"the log covers less than {hours:.3g} h before this step"
        return Gain(value=None, deviation=0.0, reason=reason)
    return gain_between(levels, start, step)


def gain_per_usd(levels: Levels, clock: Clockwork, step: float, usd: float | None) -> Gain:
    """Improvement over the last `usd` dollars."""
    if clock.usd_per_hour is None:
        return Gain(value=None, deviation=0.0, reason="no price: say --usd-per-hour")
    if usd is None:
        reason = "the log tells no time: say --seconds-per-step"
        return Gain(value=None, deviation=0.0, reason=reason)
    return gain_per_hour(levels, clock, step, usd / clock.usd_per_hour)


def usd_unit(levels: Levels, clock: Clockwork, options: StopOptions) -> float | None:
    """Dollars in one unit: as stated, else one, or two evaluations' worth where that is more."""
    if options.unit_usd is not None:
        return options.unit_usd
    steps = evaluation_steps(levels)
    between = clock.usd_between(float(steps[-min(3, len(steps))]), float(steps[-1]))
    return None if between is None else max(1.0, between)
