"""Time of gradient accumulation, the optimizer step, and transfers to host memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.choices import OFFLOADS, SHARDINGS
from planner.engine.constants import Constants
from planner.engine.weights import LocalWeights

Array = np.ndarray[Any, np.dtype[Any]]

ZERO3, HSDP = SHARDINGS.index("zero3"), SHARDINGS.index("hsdp")
NO_OFFLOAD = OFFLOADS.index("none")

HOST_UPDATE_BYTES_PER_SECOND = 2.0e10  # one device's share of host memory in a CPU Adam step


def accumulation_seconds(batch: Batch, weights: LocalWeights, memory: Array, c: Constants) -> Array:
    """Adding each micro-step's gradients to the sum, (n,); `memory` in bytes/s."""
    steps = batch.parallel.accumulation
    whole = (batch.parallel.sharding == ZERO3) | (batch.parallel.sharding == HSDP)
    size = weights.trainable_dense + weights.trainable_expert
    size = size / np.where(whole, batch.parallel.shard_degree, 1)
    traffic = 2 * batch.recipe.grad_bytes * c.accumulate_traffic
    seconds = size * traffic / memory * steps
    result: Array = np.where(steps > 1, seconds, 0.0)
    return result


def optimizer_seconds(batch: Batch, weights: LocalWeights, memory: Array, c: Constants) -> Array:
    """The optimizer step on the device, bound by its memory traffic, (n,)."""
    traffic = weights.updated * batch.recipe.update_traffic * c.update_traffic
    on_device = batch.parallel.offload == NO_OFFLOAD
    result: Array = np.where(on_device, traffic / memory, 0.0)
    return result


def offload_seconds(batch: Batch, weights: LocalWeights, c: Constants) -> Array:
    """Gradients to the host, the update there, parameters back; parameters each micro-step too."""
    parallel, recipe = batch.parallel, batch.recipe
    if (parallel.offload == NO_OFFLOAD).all():
        return np.zeros(1)
    link = batch.machine.host_link * c.link
    once = weights.updated * (recipe.grad_bytes + recipe.activation_bytes) / link
    update = weights.updated * recipe.update_traffic / HOST_UPDATE_BYTES_PER_SECOND
    whole = parallel.offload == OFFLOADS.index("params+optimizer")
    per_micro = 2 * weights.resident * recipe.activation_bytes / link * parallel.accumulation
    result: Array = np.where(
        parallel.offload == NO_OFFLOAD, 0.0, once + update + np.where(whole, per_micro, 0.0)
    )
    return result
