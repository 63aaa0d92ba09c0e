"""How long a run takes: its steps, and what evaluation, checkpoints and failures add."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from planner.engine.assumptions import assumed

DAY = 86_400.0  # s


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeconds:
    """Parts of a run's wall time, seconds. They add up to `total`."""

    training: float
    evaluation: float
    checkpoints: float
    startup: float
    failures: float

    @property
    def total(self) -> float:
        return float(sum(getattr(self, item.name) for item in fields(self)))

    @property
    def goodput(self) -> float:
        """Share of the wall time in which the run makes progress."""
        return self.training / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruptions:
    """What stops a run: checkpoints that save it and failures that undo it."""

    checkpoint_bytes: float  # weights, master weights and moments of the whole model
    checkpoint_interval: float | None  # s, None = the interval that loses least (Young 1974)
    evaluation_interval: float | None  # s, None = no evaluation
    failures_per_device_day: float


def run_seconds(
    *, steps: float, step_seconds: float, devices: int, nodes: int, interruptions: Interruptions
) -> RunSeconds:
    """Wall time of `steps` optimizer steps with their overheads.

    A failure costs a restart and half a checkpoint interval of repeated work.
    """
    training = steps * step_seconds
    write = checkpoint_seconds(interruptions.checkpoint_bytes, nodes)
    rate = interruptions.failures_per_device_day * devices / DAY  # failures per second
    interval = interruptions.checkpoint_interval or best_interval(write, rate)
    saved = training / interval if math.isfinite(interval) else 1.0
    lost = assumed("restart_seconds") + min(interval, training) / 2
    return RunSeconds(
        training=training,
        evaluation=_evaluation(training, interruptions.evaluation_interval),
        checkpoints=max(saved, 1.0) * write,
        startup=assumed("startup_seconds"),
        failures=training * rate * lost,
    )


def checkpoint_seconds(size_bytes: float, nodes: int) -> float:
    """Time to write one checkpoint, all nodes at once."""
    rate = min(
        nodes * assumed("storage_bytes_per_second_per_node"),
        assumed("storage_bytes_per_second_total"),
    )
    return size_bytes / rate


def best_interval(write_seconds: float, failures_per_second: float) -> float:
    """Checkpoint interval that loses least time, seconds: sqrt(2·write / rate), Young 1974.

    >>> round(best_interval(60.0, 1 / 86_400.0))
    3220
    """
    if failures_per_second <= 0:
        return math.inf
    return math.sqrt(2 * max(write_seconds, 1.0) / failures_per_second)


def _evaluation(training: float, interval: float | None) -> float:
    return 0.0 if interval is None else training * assumed("evaluation_share")
