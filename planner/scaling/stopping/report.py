"""Everything that `forerun stop` answers about one log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.errors import PlannerError
from planner.quantities import show_percent
from planner.scaling.logs.training_log import Series, TrainingLog
from planner.scaling.marginal import Marginal, marginal_gain
from planner.scaling.stopping.advice import stopping_advice
from planner.scaling.stopping.clockwork import Clockwork
from planner.scaling.stopping.freed import Freed, freed_budget
from planner.scaling.stopping.levels import Levels, volatility
from planner.scaling.stopping.metric import Metric, choose_metric, training_loss
from planner.scaling.stopping.options import StopOptions
from planner.scaling.stopping.outlook import (
    Outlook,
    firing_step,
    look_ahead,
    next_gain,
    validation_points,
)
from planner.scaling.stopping.rule import ENDING, Judgement, judge


@dataclass(frozen=True, slots=True, kw_only=True)
class StopPoint:
    """Where the rule says to stop (or where to go back to). None = unknown."""

    step: float | None
    seconds: float | None
    loss: float | None  # of the metric; for a step ahead, of a run planned to end there


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReport:
    """The verdict on a run with all it rests on."""

    log: TrainingLog
    options: StopOptions
    metric: Metric
    series: Series
    judgement: Judgement
    outlook: Outlook
    smoothed_last: float | None
    volatility: float | None  # standard deviation over mean of one value
    gain_next: float | None  # of one more doubling, by the forecast
    stop_at: StopPoint
    next_validation: tuple[float, ...]
    validation_seconds: float | None  # of one evaluation
    validation_usd: float | None  # of all proposed evaluations
    freed: Freed
    value_verdict: str | None  # gain × worth against cost; None where worth or cost is unknown
    next_doubling_usd: float | None
    law: Marginal | None  # the default law's view of a model of this size; None without a size
    advice: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def verdict(self) -> str:
        return self.judgement.verdict

    @property
    def axis(self) -> str:
        """What the steps count: step or epoch."""
        return "epoch" if self.metric.name.startswith("epoch_") else self.log.axis

    @property
    def last_step(self) -> float:
        return float(self.series.steps[-1])


def stop_report(log: TrainingLog, options: StopOptions) -> StopReport:
    """Judge a run by its log. Raises `PlannerError` for options that the log cannot serve."""
    metric, chosen = choose_metric(log.metrics, options.metric, options.direction)
    series = log.metrics[metric.name]
    if series.num_points + series.num_nonfinite < 2:
        told = "the log holds one point of it: there is nothing to compare it with"
        raise PlannerError("log", metric.name, told)
    clock = Clockwork.of(log, metric.name, options)
    outlook = look_ahead(log, series, metric, options)
    judgement = judge(
        series,
        metric,
        clock,
        options,
        training=training_loss(log.metrics, metric),
        forecast=outlook.forecast,
    )
    last = float(series.steps[-1])
    ahead = None if outlook.forecast is None else next_gain(outlook.forecast, last)
    cost = clock.usd_between(last, 2.0 * last)
    levels = Levels.of(series, metric.sign)
    ending = judgement.verdict in ENDING
    points = () if ending else _validation(log, outlook, last, options)
    seconds = options.evaluation_seconds or _evaluation_seconds(log)
    stop_at = _stop_point(judgement, outlook, levels, metric, clock, last, options)
    return StopReport(
        log=log,
        options=options,
        metric=metric,
        series=series,
        judgement=judgement,
        outlook=outlook,
        smoothed_last=metric.sign * levels.at(last)[0] if len(levels) else None,
        volatility=volatility(series),
        gain_next=ahead,
        stop_at=stop_at,
        next_validation=points,
        validation_seconds=seconds,
        validation_usd=_price(seconds, len(points), options.usd_per_hour),
        freed=freed_budget(last, outlook.total_steps, _tokens(log, last, options), clock, options)
        if ending
        else Freed(steps=None, hours=None, device_hours=None, usd=None, use=()),
        value_verdict=_value(judgement, ahead, cost, options),
        next_doubling_usd=cost,
        law=_law(_tokens(log, last, options), options),
        advice=_advice(judgement, outlook, last, options),
        warnings=(*chosen, *outlook.assumptions, *_warnings(series, judgement, outlook, options)),
    )


def _validation(
    log: TrainingLog, outlook: Outlook, last: float, options: StopOptions
) -> tuple[float, ...]:
    if last <= 0:
        return ()
    return validation_points(outlook, last, options.num_validations, whole=log.axis == "step")


def _stop_point(
    judgement: Judgement,
    outlook: Outlook,
    levels: Levels,
    metric: Metric,
    clock: Clockwork,
    last: float,
    options: StopOptions,
) -> StopPoint:
    step = judgement.stop_step
    if step is not None:
        loss = metric.sign * levels.at(step, ahead=True)[0] if step > 0 else None
        return StopPoint(step=step, seconds=clock.seconds_at(step), loss=loss)
    forecast = outlook.forecast
    if judgement.verdict != "continue" or forecast is None or options.unit != "doubling":
        return StopPoint(step=None, seconds=None, loss=None)
    step = firing_step(forecast, last, options.threshold)
    if step is None:
        return StopPoint(step=None, seconds=None, loss=None)
    loss = forecast.matched_loss(step) if forecast.schedule_aware else None
    return StopPoint(step=step, seconds=clock.seconds_at(step), loss=loss)


def _tokens(log: TrainingLog, last: float, options: StopOptions) -> float | None:
    if options.tokens_per_step is not None:
        return last * options.tokens_per_step
    return None if log.tokens is None else float(log.tokens.at(np.array([last]))[0])


def _law(tokens: float | None, options: StopOptions) -> Marginal | None:
    if options.params is None or tokens is None:
        return None
    return marginal_gain(params=options.params, tokens=tokens, threshold=options.threshold)


def _evaluation_seconds(log: TrainingLog) -> float | None:
    """The usual duration of an evaluation of all sets, where the trainer logs it."""
    runtimes = [
        float(np.median(series.values))
        for name, series in log.metrics.items()
        if name.startswith("eval") and name.endswith("_runtime")
    ]
    return sum(runtimes) if runtimes else None


def _price(seconds: float | None, number: int, usd_per_hour: float | None) -> float | None:
    if seconds is None or usd_per_hour is None:
        return None
    return seconds * number * usd_per_hour / 3600.0


def _value(
    judgement: Judgement, ahead: float | None, cost: float | None, options: StopOptions
) -> str | None:
    """Continue while the next doubling's gain is worth more than it costs."""
    gain = ahead if ahead is not None else judgement.doubling.value
    if options.worth_usd is None or cost is None or gain is None:
        return None
    return "continue" if 100.0 * gain * options.worth_usd > cost else "stop"


def _advice(
    judgement: Judgement, outlook: Outlook, last: float, options: StopOptions
) -> tuple[str, ...]:
    forecast, total = outlook.forecast, outlook.total_steps
    kind = options.schedule
    if kind is None and forecast is not None and forecast.schedule_aware:
        kind = "cosine" if forecast.schedule.kind == "logged" else forecast.schedule.kind
    told = list(
        stopping_advice(
            task=options.task, epochs=options.epochs, schedule=kind, total_steps=total, stop_at=last
        )
    )
    if forecast is not None and forecast.decay_now_loss is not None and forecast.schedule_aware:
        told.append(
            f"a decay to zero begun now and lasting {forecast.decay_now_steps:.0f} steps would "
            f"give about {forecast.decay_now_loss:.4g}"
        )
    if judgement.verdict == "diverged":
        told.append("go back to a checkpoint before the jump; skip those batches or lower the rate")
    return tuple(told)


def _warnings(
    series: Series, judgement: Judgement, outlook: Outlook, options: StopOptions
) -> list[str]:
    told = []
    if outlook.reason:
        told.append(f"no forecast: {outlook.reason}")
    if len(series) == 2:
        told.append("two points are too few to forecast: no trend can be told from noise")
    if series.trailing_nonfinite == 1:
        told.append(f"{series.name}: the last value is NaN or infinite")
    decided = {word for word in judgement.verdicts.values() if word is not None}
    if len(decided) > 1:
        told.append(f"the units disagree; the headline is per {options.unit}")
    if judgement.matched is not None and judgement.doubling.value is not None:
        told.append(
            f"the rate changed during the last doubling: at matched schedule it gained "
            f"{show_percent(judgement.matched)}, not "
            f"{show_percent(judgement.doubling.value)}"
        )
    if options.threshold > 0.2:
        told.append(
            f"a threshold of {show_percent(options.threshold)} is unusual; 0.015 means 1.5 %"
        )
    return told
