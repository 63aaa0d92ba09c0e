"""The stop rule: guards first, then the marginal gain in the unit that was asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.quantities import show_percent
from planner.scaling.curves.forecast import CurveForecast
from planner.scaling.logs.training_log import Series
from planner.scaling.stopping import guards
from planner.scaling.stopping.clockwork import Clockwork
from planner.scaling.stopping.gains import (
    Gain,
    evaluation_steps,
    gain_per_doubling,
    gain_per_hour,
    gain_per_usd,
    usd_unit,
)
from planner.scaling.stopping.levels import Levels
from planner.scaling.stopping.metric import Metric
from planner.scaling.stopping.options import StopOptions

FEWEST_EVALUATIONS = 5
ENDING = ("stop", "stopped-learning", "diverged")  # verdicts after which a run should not go on
CONSECUTIVE = 2  # evaluations under the threshold
_NOISES = 1.2816  # a gain is told from zero at 90 %
_RATE_CHANGED = 0.02  # of the peak, between the two ends of a doubling


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict at the last evaluation."""

    verdict: str  # continue, stop, stopped-learning, diverged, too-early
    reason: str
    stop_step: float | None  # where to stop, or to go back to
    doubling: Gain
    hour: Gain
    usd: Gain
    usd_in_unit: float | None
    matched: float | None  # gain of the last doubling at the end of the same schedule
    verdicts: dict[str, str | None]  # per_doubling, per_hour, per_usd


def judge(
    series: Series,
    metric: Metric,
    clock: Clockwork,
    options: StopOptions,
    *,
    training: Series | None = None,
    forecast: CurveForecast | None = None,
) -> Judgement:
    """Apply guards and thresholds to one metric of a run."""
    levels = Levels.of(series, metric.sign)
    if len(levels) == 0:
        return _nothing(series)
    usd = usd_unit(levels, clock, options)
    steps = evaluation_steps(levels)[-CONSECUTIVE:]
    doubling = [gain_per_doubling(levels, clock, float(s)) for s in steps]
    hour = [gain_per_hour(levels, clock, float(s), options.unit_hours) for s in steps]
    dollars = [gain_per_usd(levels, clock, float(s), usd) for s in steps]
    matched = _matched_gain(forecast, clock, float(steps[-1]))
    verdicts = {
        "per_doubling": _verdict(doubling, options.threshold, matched),
        "per_hour": _verdict(hour, options.threshold, None),
        "per_usd": _verdict(dollars, options.threshold, None),
    }
    gains = {"doubling": doubling[-1], "hour": hour[-1], "usd": dollars[-1]}
    verdict, reason, stop_step = _headline(
        series, training, metric, levels, gains, verdicts, options, clock
    )
    return Judgement(
        verdict=verdict,
        reason=reason,
        stop_step=stop_step,
        doubling=doubling[-1],
        hour=hour[-1],
        usd=dollars[-1],
        usd_in_unit=usd,
        matched=matched,
        verdicts=verdicts,
    )


def _nothing(series: Series) -> Judgement:
    nothing = Gain(value=None, deviation=0.0, reason="no evaluation after step 0")
    return Judgement(
        verdict="diverged" if series.trailing_nonfinite >= 2 else "too-early",
        reason="no evaluation after step 0",
        stop_step=None,
        doubling=nothing,
        hour=nothing,
        usd=nothing,
        usd_in_unit=None,
        matched=None,
        verdicts={"per_doubling": None, "per_hour": None, "per_usd": None},
    )


def _verdict(gains: list[Gain], threshold: float, matched: float | None) -> str | None:
    """stop when every one of the last evaluations gained less than the threshold."""
    if len(gains) < CONSECUTIVE or not gains[-1].known:
        return None
    low = all(gain.value is not None and gain.value < threshold for gain in gains)
    if low and matched is not None and matched >= threshold:
        return "continue"
    return "stop" if low else "continue"


def _headline(
    series: Series,
    training: Series | None,
    metric: Metric,
    levels: Levels,
    gains: dict[str, Gain],
    verdicts: dict[str, str | None],
    options: StopOptions,
    clock: Clockwork,
) -> tuple[str, str, float | None]:
    finding = _guard(series, training, metric, levels)
    if finding is not None:
        return finding.verdict, finding.reason, finding.best_step
    if len(levels) < FEWEST_EVALUATIONS:
        told = f"{len(levels)} evaluation(s): at least {FEWEST_EVALUATIONS} are needed to judge"
        return "too-early", told, None
    gain, verdict = gains[options.unit], verdicts[f"per_{options.unit}"]
    if gain.value is None or verdict is None:
        return "too-early", gain.reason or "one evaluation more is needed", None
    return _weighed(gain, verdict, levels, options, clock)


def _weighed(
    gain: Gain, verdict: str, levels: Levels, options: StopOptions, clock: Clockwork
) -> tuple[str, str, float | None]:
    """A low gain, told apart from one that drowns in evaluation noise."""
    assert gain.value is not None
    least = show_percent(options.threshold)
    share, unit = show_percent(gain.value), options.unit
    doubt = _NOISES * gain.deviation
    if verdict == "continue":
        return "continue", f"the last {unit} gained {share}", None
    if gain.value > doubt:
        reason = f"the last {unit} gained {share}, under {least}, twice in a row"
        return "stop", reason, _first_stop(levels, options, clock)
    if doubt < options.threshold:
        reason = f"no gain over the last {unit}: {share}, evaluation noise is {show_percent(doubt)}"
        return "stopped-learning", reason, _first_stop(levels, options, clock)
    reason = (
        f"the last {unit} gained {share}, but evaluation noise is {show_percent(doubt)}: evaluate "
        "on more data or average more steps"
    )
    return "too-early", reason, None


def _guard(
    series: Series, training: Series | None, metric: Metric, levels: Levels
) -> guards.Finding | None:
    sources = [(series, levels, not metric.trained_on)]
    if training is not None:
        sources.append((training, Levels.of(training, 1.0), False))
    for source, level, _ in sources:
        finding = guards.not_finite(source, level)
        if finding is not None:
            return finding
    for source, level, may_overfit in sources:
        finding = guards.jump(level, source.name, abrupt_only=may_overfit) if len(level) else None
        if finding is not None:
            return finding
    if metric.trained_on:
        return None
    return guards.rising(levels, metric.name) or guards.risen(levels, metric.name)


def _first_stop(levels: Levels, options: StopOptions, clock: Clockwork) -> float:
    """The first evaluation of the present unbroken row under the threshold, the second of it."""
    steps = evaluation_steps(levels)
    row = len(steps)
    usd = usd_unit(levels, clock, options)
    while row > 0:
        gain = _gain(levels, clock, float(steps[row - 1]), options, usd)
        if gain.value is None or gain.value >= options.threshold:
            break
        row -= 1
    return float(steps[min(row + CONSECUTIVE - 1, len(steps) - 1)])


def _gain(
    levels: Levels, clock: Clockwork, step: float, options: StopOptions, usd: float | None
) -> Gain:
    if options.unit == "doubling":
        return gain_per_doubling(levels, clock, step)
    if options.unit == "hour":
        return gain_per_hour(levels, clock, step, options.unit_hours)
    return gain_per_usd(levels, clock, step, usd)


def _matched_gain(forecast: CurveForecast | None, clock: Clockwork, step: float) -> float | None:
    """Gain of the last doubling if both its ends were ends of the schedule; None where the rate did
    not change between them, so that the plain gain is matched already."""
    if forecast is None or not forecast.schedule_aware:
        return None
    half = clock.half_of(step)
    rates = forecast.schedule.rate(np.array([half, step]))
    if half <= 0 or abs(float(rates[0] - rates[1])) < _RATE_CHANGED:
        return None
    before, after = forecast.matched_loss(half), forecast.matched_loss(step)
    return 1.0 - after / before
