"""What a training log says, whatever wrote it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One quantity along the run. Non-finite values are counted, not kept."""

    name: str  # as the log calls it
    steps: Floats  # [n], strictly rising
    values: Floats  # [n]
    weights: Floats  # [n], points of the log that each value averages
    num_points: int  # finite values in the log
    num_nonfinite: int = 0  # NaN or infinite values in the log
    trailing_nonfinite: int = 0  # of those, after the last finite value

    def __post_init__(self) -> None:
        assert len(self.steps) == len(self.values) == len(self.weights)
        assert (np.diff(self.steps) > 0).all(), f"{self.name}: steps must rise"

    def __len__(self) -> int:
        return len(self.steps)

    def at(self, steps: Floats) -> Floats:
        """Values at `steps` by linear interpolation; the ends are held."""
        return np.interp(steps, self.steps, self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingLog:
    """The metrics and clocks of one run, restarts merged."""

    format: str  # llm.c, modded-nanogpt, megatron, ...
    axis: str  # what `steps` counts: step or epoch
    metrics: dict[str, Series]
    clocks: dict[str, Series]  # cumulative training seconds by metric; "" serves every metric
    learning_rate: Series | None
    tokens: Series | None  # cumulative training tokens
    total_steps: float | None  # the planned length, where the log states it
    bytes_read: int
    notes: tuple[str, ...] = field(default=())  # what was merged, repaired, ignored

    def seconds_of(self, metric: str) -> Series | None:
        """The clock on the steps of `metric`; None where the log tells no time."""
        return self.clocks.get(metric, self.clocks.get(""))

    @property
    def last_step(self) -> float:
        """The largest step of any metric."""
        return max(float(series.steps[-1]) for series in self.metrics.values() if len(series))
