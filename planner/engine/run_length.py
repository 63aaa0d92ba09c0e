"""How long a run takes: its steps, and what evaluation, checkpoints and failures add."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from planner.engine.assumptions import assumed

Array = np.ndarray[Any, np.dtype[Any]]

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
    stops = Stops.of(
        checkpoint_bytes=interruptions.checkpoint_bytes,
        devices=devices,
        nodes=nodes,
        failures_per_device_day=interruptions.failures_per_device_day,
        evaluates=interruptions.evaluation_interval is not None,
    )
    interval = interruptions.checkpoint_interval or stops.best_interval
    parts = wall_parts(steps * step_seconds, interval, stops)
    return RunSeconds(**{name: float(value) for name, value in parts.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stops:
    """What a machine adds to its training time, and how often it stops."""

    write_seconds: float  # of one checkpoint
    failures_per_second: float  # of all devices together
    evaluation_share: float  # of the training time

    @classmethod
    def of(
        cls,
        *,
        checkpoint_bytes: float,
        devices: int,
        nodes: int,
        failures_per_device_day: float,
        evaluates: bool,
    ) -> Stops:
        """From what is saved, and from the machine's size and reliability."""
        return cls(
            write_seconds=checkpoint_seconds(checkpoint_bytes, nodes),
            failures_per_second=failures_per_device_day * devices / DAY,
            evaluation_share=assumed("evaluation_share") if evaluates else 0.0,
        )

    @property
    def best_interval(self) -> float:
        """Seconds between checkpoints that lose least time; infinite without failures."""
        return best_interval(self.write_seconds, self.failures_per_second)


def wall_parts(
    training: Array | float, interval: Array | float, stops: Stops
) -> dict[str, Array | float]:
    """Parts of the wall time of runs by the names of `RunSeconds`, seconds, one or (n,) each, from
    their training time and the seconds between their checkpoints (infinite: only the last)."""
    lost = assumed("restart_seconds") + np.minimum(interval, training) / 2
    return {
        "training": training,
        "evaluation": training * stops.evaluation_share,
        "checkpoints": np.maximum(training / interval, 1.0) * stops.write_seconds,
        "startup": assumed("startup_seconds"),
        "failures": training * stops.failures_per_second * lost,
    }


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
