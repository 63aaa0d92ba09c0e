"""The level of a noisy metric at a step, and how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.scaling.logs.training_log import Floats, Series

_SPAN = 1.15  # ratio of steps that one level looks back over
_FEWEST = 4  # points in the span; fewer are taken as they are
_NOISE_POINTS = 512  # the last points, from which noise is estimated
_MAD_TO_DEVIATION = 1.4826  # of a normal distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """A metric with less better (`sign` applied), smoothed on demand."""

    steps: Floats  # [n], positive, rising
    values: Floats  # [n], sign times the metric
    noise: float  # standard deviation of one value, in units of the metric

    @classmethod
    def of(cls, series: Series, sign: float) -> Levels:
        """The levels of a series; points at step 0 do not count (no doubling leads there)."""
        later = series.steps > 0
        steps, values = series.steps[later], sign * series.values[later]
        return cls(steps=steps, values=values, noise=_noise(steps, values))

    def __len__(self) -> int:
        return len(self.steps)

    def at(self, step: float, *, ahead: bool = False) -> tuple[float, float]:
        """Level and its standard deviation at `step`, from a line over the points before it
        (`ahead`: and after it)."""
        low = np.searchsorted(self.steps, step / _SPAN, side="left")
        high = np.searchsorted(self.steps, step * (_SPAN if ahead else 1.0), side="right")
        if high - low < _FEWEST:
            position, logs = np.log(step), np.log(self.steps)
            return float(np.interp(position, logs, self.values)), self.noise
        return self._line(slice(int(low), int(high)), step)

    def _line(self, part: slice, step: float) -> tuple[float, float]:
        x, y = np.log(self.steps[part] / step), self.values[part]
        middle = x.mean()
        spread = float(((x - middle) ** 2).sum())
        slope = float(((x - middle) * y).sum()) / spread
        leverage = 1.0 / len(x) + middle**2 / spread
        return float(y.mean() - slope * middle), self.noise * float(np.sqrt(leverage))


def _noise(steps: Floats, values: Floats) -> float:
    """From the distance of points to the line through their neighbours, in the later half."""
    keep = max(5, min(_NOISE_POINTS, len(steps) // 2))
    steps, values = np.log(steps[-keep:]), values[-keep:]
    if len(steps) < 5:
        return 0.0
    share = (steps[1:-1] - steps[:-2]) / (steps[2:] - steps[:-2])
    bends = values[1:-1] - (1.0 - share) * values[:-2] - share * values[2:]
    bends = bends / np.sqrt(1.0 + share**2 + (1.0 - share) ** 2)
    return float(_MAD_TO_DEVIATION * np.median(np.abs(bends)))


def volatility(series: Series) -> float | None:
    """Standard deviation over mean of the last tenth of the points around their trend."""
    levels = Levels.of(series, 1.0)
    if len(levels) < 5:
        return None
    mean = abs(float(np.mean(levels.values[-max(5, len(levels) // 10) :])))
    return levels.noise / mean if mean > 0 else None
