"""Step time and peak memory of every candidate of a batch, in one pass over the arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.constants import Constants
from planner.engine.memory import MemoryBytes, peak
from planner.engine.phases import Step
from planner.engine.step import StepSeconds, step_seconds

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What the engine says about a batch; arrays broadcast to (size,)."""

    step: StepSeconds
    memory: MemoryBytes
    moments: dict[str, Step]  # of a step, by pipeline stage
    seconds: Array  # (size,) of one optimizer step
    peak: Array  # (size,) bytes on the fullest device
    capacity: Array  # (size,) bytes that a process can allocate


def evaluate(batch: Batch, c: Constants) -> Evaluation:
    """Time and memory of every candidate."""
    step = step_seconds(batch, c)
    memory, moments = peak(batch, c)
    return Evaluation(
        step=step,
        memory=memory,
        moments=moments,
        seconds=np.broadcast_to(step.total, (batch.size,)),
        peak=np.broadcast_to(memory.total, (batch.size,)),
        capacity=np.broadcast_to(batch.machine.capacity, (batch.size,)),
    )
