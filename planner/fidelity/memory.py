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
