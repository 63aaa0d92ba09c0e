"""Steps, seconds, dollars and compute of one run, each as a function of the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.scaling.logs.training_log import Series, TrainingLog
from planner.scaling.stopping.options import StopOptions

_RECENT_SHARE = 0.2  # of the steps: the present pace
_SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Clockwork:
    """Converts between steps and what they cost."""

    seconds: Series | None  # cumulative, from the log
    tokens: Series | None  # cumulative, from the log
    seconds_per_step: float | None  # the present pace
    usd_per_hour: float | None

    @classmethod
    def of(cls, log: TrainingLog, metric: str, options: StopOptions) -> Clockwork:
        return cls.over(log.seconds_of(metric), options, tokens=log.tokens)

    @classmethod
    def over(
        cls, seconds: Series | None, options: StopOptions, *, tokens: Series | None = None
    ) -> Clockwork:
        """From cumulative seconds and tokens; a stated pace counts more than the clock."""
        stated = options.seconds_per_step
        if stated is not None or (seconds is not None and len(seconds) < 2):
            seconds = None
        pace = stated if stated is not None else _pace(seconds)
        return cls(
            seconds=seconds,
            tokens=tokens if tokens is not None and len(tokens) > 1 else None,
            seconds_per_step=pace,
            usd_per_hour=options.usd_per_hour,
        )

    def seconds_at(self, step: float) -> float | None:
        """Training seconds at a step, also beyond the log."""
        if self.seconds_per_step is None:
            return None
        if self.seconds is None:
            return step * self.seconds_per_step
        last = float(self.seconds.steps[-1])
        known = float(self.seconds.at(np.array([min(step, last)]))[0])
        return known + max(step - last, 0.0) * self.seconds_per_step

    def step_before(self, step: float, seconds: float) -> float | None:
        """The step that was reached `seconds` before `step`; None where the run is too young."""
        now = self.seconds_at(step)
        if now is None or self.seconds_per_step is None:
            return None
        first = 0.0 if self.seconds is None else float(self.seconds.values[0])
        if now - seconds < first:
            return None
        if self.seconds is None:
            return (now - seconds) / self.seconds_per_step
        return float(np.interp(now - seconds, self.seconds.values, self.seconds.steps))

    def half_of(self, step: float) -> float:
        """The step at half the compute (tokens where the log counts them, steps otherwise)."""
        if self.tokens is None or step > self.tokens.steps[-1] * 1.001:
            return 0.5 * step
        half = 0.5 * float(self.tokens.at(np.array([step]))[0])
        if half < self.tokens.values[0]:
            return 0.5 * step
        return float(np.interp(half, self.tokens.values, self.tokens.steps))

    def hours_between(self, start: float, end: float) -> float | None:
        """Hours from one step to another."""
        before, after = self.seconds_at(start), self.seconds_at(end)
        return None if before is None or after is None else (after - before) / _SECONDS_PER_HOUR

    def usd_between(self, start: float, end: float) -> float | None:
        """Dollars from one step to another."""
        hours = self.hours_between(start, end)
        return None if hours is None or self.usd_per_hour is None else hours * self.usd_per_hour


def _pace(seconds: Series | None) -> float | None:
    if seconds is None:
        return None
    begin = seconds.steps[-1] - _RECENT_SHARE * (seconds.steps[-1] - seconds.steps[0])
    recent = seconds.steps >= begin
    if recent.sum() < 2:
        recent[-2:] = True
    steps, values = seconds.steps[recent], seconds.values[recent]
    pace = float(np.median(np.diff(values) / np.diff(steps)))
    return pace if pace > 0 else None
