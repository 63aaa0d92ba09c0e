"""Time that the host adds: it launches kernels one by one while the device waits or works."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.choices import RECOMPUTES, SHARDINGS
from planner.engine.constants import Constants

Array = np.ndarray[Any, np.dtype[Any]]

FULL = RECOMPUTES.index("full")
ZERO3, HSDP = SHARDINGS.index("zero3"), SHARDINGS.index("hsdp")

QUANTISED_EXPERT = 3.0  # host work of an expert whose operands are scaled and cast one by one


def launch_seconds(batch: Batch, device: Array, count: Array, c: Constants) -> Array:
    """Host time that long kernels do not hide, of the stage's layers and one micro-batch, (n,).

    Soft maximum of device and host time, minus the device time: an asynchronous queue hides
    launches behind long kernels, not behind short ones. `count` is layers by kind, (g, n).
    """
    return waited(device, np.sum(host_seconds(batch, c) * count, axis=0), c)


def waited(device: Array, host: Array, c: Constants) -> Array:
    """Seconds that the device waits for the host, (n,)."""
    power = c.overlap_power
    longest = np.maximum(device, host)
    ratio = np.minimum(device, host) / np.maximum(longest, 1e-30)
    result: Array = longest * (1 + ratio**power) ** (1 / power) - device
    return result


def host_seconds(batch: Batch, c: Constants) -> Array:
    """Host time of one layer's forward, recomputation and backward, (g, n)."""
    parallel, recipe, blocks = batch.parallel, batch.recipe, batch.shape.blocks
    sharded = (parallel.sharding == ZERO3) | (parallel.sharding == HSDP)
    full = parallel.recompute == FULL
    mixture = blocks.num_experts > 0
    local = blocks.num_experts / parallel.ep
    dense = c.host_op_seconds * (
        recipe.host_layer
        + recipe.host_again * full
        + recipe.host_tensor * (parallel.tp > 1) * (1 + 0.5 * full)
        + recipe.host_shard * sharded
        + recipe.host_adapters * (recipe.adapters > 0)
    ) + c.kernel_seconds * (recipe.launches + recipe.launches_again * full)
    per_expert = 1 + (QUANTISED_EXPERT - 1) * recipe.quantised
    routed = c.host_op_seconds * (
        (recipe.host_experts + recipe.host_exchange * (parallel.ep > 1)) * mixture
        + recipe.host_per_expert * local * per_expert
    ) + c.kernel_seconds * (
        recipe.launches_experts * mixture + recipe.launches_per_expert * local * per_expert
    )
    left = 1 - c.graph_share
    result: Array = dense * (1 - recipe.graphs * left) + routed * (1 - recipe.graphs_experts * left)
    return result
