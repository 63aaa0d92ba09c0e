"""Predicted peaks of published runs, as each run's meter shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.constants import Constants
from planner.engine.memory import memory_bytes
from planner.engine.meters import METERS, meter_bytes
from planner.fidelity.batches import case_batch
from planner.fidelity.case import Case

Array = np.ndarray[Any, np.dtype[Any]]

# bytes per quantised parameter, scales included: groups of 64 with FP32 scales; the same with
# 8-bit scales; groups of 128 with FP16 scales and 4-bit or 8-bit zeros (GPTQ)
QUANTISED = {
    "nf4": 0.5 + 4 / 64,
    "nf4-dq": 0.5 + 1 / 64 + 4 / (64 * 256),
    "gptq-int4": 0.5 + (2 + 0.5) / 128,
    "gptq-int8": 1 + (2 + 1) / 128,
}
GPTQ_OUTER_BYTES = 2.0  # GPTQ leaves embeddings and output layer in 16 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPrediction:
    """Predictions of several cases, (n,) each."""

    seen: Array  # bytes that the run's meter would show
    needed: Array  # bytes that the run needs on the fullest device, context included
    capacity: Array  # bytes that a process can allocate there


def memory_batch(cases: Sequence[Case]) -> Batch:
    """The cases as a batch, with what their notes tell about quantisation and the optimizer."""
    batch = case_batch(cases)
    recipe, software = batch.recipe, batch.software
    traits = [case.traits for case in cases]
    paged = np.array([each.paged_optimizer for each in traits])
    freed = np.array([each.optimizer_in_backward for each in traits])
    frozen = np.array([QUANTISED.get(each.quantization, np.nan) for each in traits])
    gptq = np.array([each.quantization.startswith("gptq") for each in traits])
    return replace(
        batch,
        recipe=replace(
            recipe,
            moment_bytes=np.where(paged, 0.0, recipe.moment_bytes),
            grad_bytes=np.where(freed, 0.0, recipe.grad_bytes),
            frozen_bytes=np.where(np.isnan(frozen), recipe.frozen_bytes, frozen),
        ),
        software=replace(
            software,
            frozen_outer_bytes=np.where(gptq, GPTQ_OUTER_BYTES, software.frozen_outer_bytes),
            inputs_kept=np.where(gptq, 0.0, software.inputs_kept),
        ),
    )


def predict(cases: Sequence[Case], c: Constants, batch: Batch | None = None) -> MemoryPrediction:
    """What each case's meter would show, and what the run needs."""
    batch = memory_batch(cases) if batch is None else batch
    held = memory_bytes(batch, c)
    shown = {
        meter: np.broadcast_to(meter_bytes(batch, held, c, meter), (batch.size,))
        for meter in METERS
    }
    seen = [shown[case.meter or "nvidia-smi"][index] for index, case in enumerate(cases)]
    return MemoryPrediction(
        seen=np.array(seen),
        needed=np.broadcast_to(held.total, (batch.size,)),
        capacity=np.broadcast_to(batch.machine.capacity, (batch.size,)),
    )


def spreads(cases: Sequence[Case]) -> Array:
    """Standard deviation of the logarithm of each case's peak, (n,)."""
    from planner.planning.intervals import memory_spread
    from planner.planning.memory_doubts import memory_doubts
    from planner.stacks import stack

    doubts = [memory_doubts(each.configuration, stack(each.configuration.stack)) for each in cases]
    return np.array([memory_spread(names).sigma for names in doubts])


def fit_reserve(cases: Sequence[Case], c: Constants) -> Constants:
    """The allocator's factor, from runs that print what is allocated and what is reserved.

    The median over those runs; without any, the constant stays.
    """
    ratios = [
        case.traits.reserved_bytes / case.actual_peak_bytes
        for case in cases
        if case.traits.reserved_bytes and case.actual_peak_bytes and case.meter == "allocated"
    ]
    return replace(c, reserve=float(np.median(ratios))) if ratios else c


def left_out(cases: Sequence[Case], c: Constants) -> MemoryPrediction:
    """Each case predicted with constants fitted without its source."""
    groups = np.array([case.group for case in cases])
    batch = memory_batch(cases)
    parts: dict[str, Array] = {}
    for group in np.unique(groups):
        own = groups == group
        fitted = fit_reserve([case for case, mine in zip(cases, own, strict=True) if not mine], c)
        made = predict(cases, fitted, batch)
        for name in ("seen", "needed", "capacity"):
            kept = parts.setdefault(name, np.zeros(len(cases)))
            kept[own] = getattr(made, name)[own]
    return MemoryPrediction(**parts)
