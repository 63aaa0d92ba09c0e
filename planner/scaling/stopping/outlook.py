"""What lies ahead of a run: forecast, where the rule will fire, where to validate next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.errors import PlannerError
from planner.scaling.curves.forecast import FEWEST_POINTS, CurveForecast, forecast_curve
from planner.scaling.curves.recognition import schedule_of
from planner.scaling.curves.schedule import Floats, named_schedule
from planner.scaling.logs.training_log import Series, TrainingLog
from planner.scaling.stopping.metric import Metric
from planner.scaling.stopping.options import StopOptions

_FARTHEST_DOUBLINGS = 4  # ahead, in the search for the step at which the rule fires
_STEPS_PER_DOUBLING = 16
_COMPLETE = 0.999  # of the planned steps
_EVEN_DENSITY = 0.5  # of validation points that is spread evenly whatever the doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """A forecast, or why there is none; what had to be assumed for it."""

    forecast: CurveForecast | None
    total_steps: float | None  # planned
    reason: str = ""  # why there is no forecast
    assumptions: tuple[str, ...] = ()

    @property
    def has_end(self) -> bool:
        """Whether the forecast reaches a planned end."""
        return self.forecast is not None and self.total_steps is not None


def look_ahead(log: TrainingLog, series: Series, metric: Metric, options: StopOptions) -> Outlook:
    """Forecast the metric where a law describes it."""
    total = options.total_steps or log.total_steps
    if options.task != "pretrain":
        return _none(
            total, f"no law describes the loss of task {options.task}; judge by evaluation"
        )
    if not metric.is_loss or (len(series) and series.values.min() <= 0):
        return _none(total, f"no law describes {metric.name}: forecasts are for losses")
    later = series.steps > 0
    steps, values = series.steps[later], series.values[later]
    if len(steps) < FEWEST_POINTS:
        told = f"{len(steps)} point(s) are too few to forecast; {FEWEST_POINTS} are the least"
        return _none(total, told)
    return _forecast(log, steps, values, total, options)


def _none(total: float | None, reason: str) -> Outlook:
    return Outlook(forecast=None, total_steps=total, reason=reason)


def _forecast(
    log: TrainingLog, steps: Floats, values: Floats, total: float | None, options: StopOptions
) -> Outlook:
    last = float(steps[-1])
    if options.total_steps is not None and options.total_steps < last:
        raise PlannerError(
            "total-steps", options.total_steps, f"the log already reaches step {last:g}"
        )
    total = None if total is None else max(total, last)
    known = schedule_of(
        log.learning_rate,
        last_step=last,
        total_steps=total,
        kind=options.schedule,
        warmup_steps=options.warmup_steps,
        final_ratio=options.final_ratio,
        decay_share=options.decay_share,
    )
    if known is not None:
        total = total or (known.schedule.total_steps if known.source == "logged" else None)
        schedule, told, aware = known.schedule, known.assumptions, True
    else:
        schedule = named_schedule("constant", total or last)
        told, aware = (
            ("the learning-rate schedule is unknown: taken as constant (--schedule)",),
            False,
        )
    forecast = forecast_curve(steps, values, schedule, schedule_aware=aware)
    if forecast is None:
        return _none(
            total,
            f"the points after warm-up lie in fewer than {FEWEST_POINTS} separate parts of the "
            "run, or follow no loss curve",
        )
    reason = "" if total is not None else "the planned length is unknown: say --total-steps"
    return Outlook(forecast=forecast, total_steps=total, reason=reason, assumptions=told)


def next_gain(forecast: CurveForecast, step: float) -> float:
    """Gain that one more doubling would bring, both ends at the end of their schedule."""
    return 1.0 - forecast.matched_loss(2.0 * step) / forecast.matched_loss(step)


def firing_step(forecast: CurveForecast, step: float, threshold: float) -> float | None:
    """The first step from `step` on at which the last doubling gained less than the threshold."""
    count = _FARTHEST_DOUBLINGS * _STEPS_PER_DOUBLING
    powers = np.arange(-_STEPS_PER_DOUBLING, count) / _STEPS_PER_DOUBLING
    candidates = [float(candidate) for candidate in step * 2.0**powers]
    ends = [forecast.matched_loss(candidate) for candidate in candidates]
    for place in range(_STEPS_PER_DOUBLING, len(ends)):
        if 1.0 - ends[place] / ends[place - _STEPS_PER_DOUBLING] < threshold:
            return candidates[place]
    return None


def validation_points(
    outlook: Outlook, last: float, number: int, *, whole: bool
) -> tuple[float, ...]:
    """Steps to evaluate at, evenly spaced in log compute, denser where the forecast is unsure."""
    end = outlook.total_steps if outlook.total_steps is not None else 2.0 * last
    if end <= last / _COMPLETE:
        return ()
    grid = np.linspace(np.log(last), np.log(end), 257)
    density = np.ones_like(grid)
    if outlook.has_end and outlook.forecast is not None:
        width = np.interp(
            np.exp(grid), outlook.forecast.steps, outlook.forecast.high - outlook.forecast.low
        )
        density = _EVEN_DENSITY + (1.0 - _EVEN_DENSITY) * width / max(float(width.mean()), 1e-12)
    share = np.concatenate(([0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))))
    wanted = np.arange(1, number + 1) / number * share[-1]
    steps = np.exp(np.interp(wanted, share, grid))
    if whole:
        steps = np.minimum(np.ceil(steps - 1e-6), end)
    return tuple(float(step) for step in np.unique(steps) if step > last)
