"""Parameters and gradients that are whole for a moment, and buffers of communication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.activations import Formats
from planner.engine.batch import Batch
from planner.engine.choices import OFFLOADS, SHARDINGS
from planner.engine.weights import StageWeights

Array = np.ndarray[Any, np.dtype[Any]]

STAGE = np.array(
    [
        {"none": 0, "zero1": 1, "zero2": 2, "zero3": 3, "hsdp": 3, "layer-split": 0}[word]
        for word in SHARDINGS
    ],
    dtype=np.int64,
)
ALL_OFFLOAD = OFFLOADS.index("params+optimizer")
NO_OFFLOAD = OFFLOADS.index("none")

ZERO_BUCKET = 5e8  # elements: DeepSpeed's default reduce bucket (docs, zero3.rst)
CAST = 2.0  # bytes of a cast weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Bytes on one device, (n,) each."""

    forward: Array  # at the end of the forward pass
    head: Array  # while the output layer goes back
    layers: Array  # while the first of the layers goes back
    last: Array  # while the last of the layers goes back
    gradients: Array  # whole gradients of one sharded layer and what is sent of them
    buffers: Array  # standing buffers of gradient communication


def level(batch: Batch) -> Array:
    """Sharding stage, 0 to 3, (n,)."""
    result: Array = STAGE[batch.parallel.sharding]
    return result


def gathered(batch: Batch, each: Formats, held: StageWeights, layers: Array) -> Gathered:
    """What the layout and the formats make whole beside the resident states."""
    parallel, software = batch.parallel, batch.software
    sharded = (level(batch) >= 3) | (parallel.offload == ALL_OFFLOAD)
    zero = np.zeros(1)
    units = zero
    gradients = zero
    if sharded.any():
        number = np.minimum(software.gathered_units, layers)
        base = np.where(software.dequantised > 0, batch.recipe.frozen_bytes, each.compute)
        units = np.where(sharded, base * number * held.layer + each.compute * held.outer, 0.0)
        gradients = np.where(sharded, _unit_gradients(batch, each, held), 0.0)
    casts = head = one = zero
    if each.autocast.any():
        cast = CAST * each.autocast
        casts, one = cast * held.layers_total, cast * held.layers_total / np.maximum(layers, 1)
        head = cast * held.head
    recomputed = parallel.recompute > 0
    return Gathered(
        forward=units + casts + head,
        head=units + np.where(recomputed, 0.0, casts) + head,
        layers=units + np.where(recomputed, one, casts),
        last=units + one,
        gradients=gradients,
        buffers=_buffers(batch, each, held),
    )


def _unit_gradients(batch: Batch, each: Formats, held: StageWeights) -> Array:
    """One layer's gradients and their copy on the wire, where base weights train."""
    wire = np.maximum(batch.recipe.reduce_bytes, each.compute)
    result: Array = held.layer * (each.compute + wire) * (batch.software.frozen == 0)
    return result


def _buffers(batch: Batch, each: Formats, held: StageWeights) -> Array:
    """DDP's buckets mirror all gradients; DeepSpeed's hold a fixed number of elements."""
    parallel, software = batch.parallel, batch.software
    replicated = (level(batch) == 0) & (parallel.dp * parallel.cp > 1)
    result: Array = np.where(
        replicated & (software.bucketed_gradients > 0),
        held.trainable * batch.recipe.grad_bytes,
        0.0,
    )
    if software.zero_buckets.any():
        split = (software.zero_buckets > 0) & (parallel.shard_degree > 1)
        bucket = np.minimum(ZERO_BUCKET, held.trainable) * each.compute
        result = np.where(split, result + bucket, result)
    return result
