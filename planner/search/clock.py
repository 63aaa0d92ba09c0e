"""Wall time of a run from step times, over arrays: what `planner.planning.length` says of one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from planner.engine.assumptions import assumed
from planner.engine.run_length import Stops, wall_parts
from planner.planning.scenario import Scenario
from planner.run import Every

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """What turns the step times of one machine into wall times."""

    steps: Mapping[int, int]  # optimizer steps by global batch
    samples_per_second: float  # of all hosts' loaders together; infinite where nobody says
    checkpoint_every: Every | None  # None = the interval that loses least
    stops: Stops

    def seconds(self, device: Array, global_batch: Array) -> Array:
        """Seconds of the whole run, (n,), from device seconds of a step and sequences of a step."""
        step = np.maximum(device, global_batch / self.samples_per_second)
        training = step * self._steps(global_batch)
        parts = wall_parts(training, self._interval(step), self.stops)
        result: Array = reduce(add, map(np.asarray, parts.values()))
        return result

    def _steps(self, global_batch: Array) -> Array:
        if len(self.steps) == 1:
            return np.full(1, float(next(iter(self.steps.values()))))
        known = np.array(sorted(self.steps))
        counts = np.array([self.steps[batch] for batch in known.tolist()], dtype=np.float64)
        result: Array = counts[np.searchsorted(known, global_batch)]
        return result

    def _interval(self, step: Array) -> Array:
        """Seconds between two checkpoints."""
        every = self.checkpoint_every
        if every is None:
            return np.full(1, self.stops.best_interval)
        if every.steps is not None:
            return step * every.steps
        assert every.seconds is not None
        return np.maximum(step, every.seconds)


def clock_of(each: Scenario, checkpoint: float, steps: Mapping[int, int]) -> Clock:
    """The clock of a scenario's machine; `steps` go with the global batches."""
    overhead, rate = each.run.overhead, each.run.data.loader_rate
    hosts = math.ceil(each.num_devices / each.devices_per_node)
    failures = overhead.failures
    per_day = assumed("failures_per_device_day") if failures is None else failures
    return Clock(
        steps=steps,
        samples_per_second=rate * hosts if rate else math.inf,
        checkpoint_every=overhead.checkpoint_every,
        stops=Stops.of(
            checkpoint_bytes=checkpoint,
            devices=each.num_devices,
            nodes=hosts,
            failures_per_device_day=per_day,
            evaluates=overhead.evaluate_every is not None,
        ),
    )
