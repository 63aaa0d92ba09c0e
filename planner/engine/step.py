"""Seconds of one optimizer step as a sum of named parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.choices import LOSSES, SHARDINGS
from planner.engine.collectives import (
    gather_seconds,
    shard_group,
)
from planner.engine.constants import Constants
from planner.engine.launch import launch_seconds
from planner.engine.layer import LayerSeconds, layer_seconds
from planner.engine.operations import head_product
from planner.engine.rates import Rates, product_seconds, rates
from planner.engine.records import values
from planner.engine.reduction import reduction_seconds
from planner.engine.stages import stage_layers
from planner.engine.update import accumulation_seconds, offload_seconds, optimizer_seconds
from planner.engine.weights import LocalWeights, local_weights

Array = np.ndarray[Any, np.dtype[Any]]

ZERO3, HSDP = SHARDINGS.index("zero3"), SHARDINGS.index("hsdp")

# of a micro-batch: two products for each one of the forward pass. Rates do not move this share, so
# what a faster part saves is never outweighed by communication that it no longer hides
BACKWARD_SHARE = 2 / 3

# bytes that the loss moves per logit, forward and backward, beside the products' own traffic.
# eager: cast to FP32 (6), log-softmax (12), its loss (4), softmax gradient (12), cast back (6) and
# the copies of a shift (4); fused: read, write and read again, FP32 inside; vocab-parallel: cast,
# maximum, exponentials in place, gradient; chunked: eager in pieces that caches hold in part
_TRAFFIC = {"eager": 44.0, "fused": 20.0, "chunked": 30.0, "vocab-parallel": 28.0}
LOGIT_TRAFFIC = np.array([_TRAFFIC[word] for word in LOSSES])
IN_PLACE_TRAFFIC = 6.0  # of a fused classifier that reads logits once and leaves their gradient


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSeconds:
    """Parts of one optimizer step on the critical device, seconds, (n,) each."""

    matmul: Array  # matrix products of the layers, forward and backward
    attention: Array
    elementwise: Array  # norms, rotary, activations, residuals
    routing: Array  # permutation of tokens to experts
    recompute: Array  # forward work repeated in the backward pass
    output_layer: Array  # logits and loss
    tensor_parallel: Array  # exposed collectives
    context_parallel: Array
    expert_parallel: Array
    sharding: Array  # exposed gathers of parameters and scatters of gradients
    data_parallel: Array  # exposed gradient reduction once a step
    pipeline: Array  # bubble and transfers between stages
    launch: Array  # the device waits for the host
    accumulation: Array  # gradient accumulation traffic
    optimizer: Array
    offload: Array  # transfers to and from host memory
    overhead: Array  # per step: data, logging

    @property
    def total(self) -> Array:
        return sum(values(self).values(), np.zeros(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Micro:
    """One micro-batch on one pipeline stage, seconds, (n,)."""

    parts: dict[str, Array]
    head: Array
    backward: Array  # of the layers' backward pass, on the device or waiting for the host

    @property
    def layers(self) -> Array:
        return sum(self.parts.values(), np.zeros(1))


def step_seconds(batch: Batch, c: Constants) -> StepSeconds:
    """The parts of one optimizer step of every candidate."""
    if batch.table is not None:
        from planner.engine import traced  # what follows knows transformers alone

        return traced.step_seconds(batch, c)
    parallel = batch.parallel
    weights, sustained = local_weights(batch), rates(batch, c)
    micro = _micro_batch(batch, weights, sustained, c)
    steps = parallel.accumulation
    bubble = micro.layers * (parallel.pp - 1) / parallel.interleave
    parts = {name: value * steps for name, value in micro.parts.items()}
    return StepSeconds(
        **parts,
        output_layer=micro.head * steps,
        pipeline=bubble + _transfers(batch, c) * steps,
        data_parallel=reduction_seconds(batch, weights, micro.backward, c),
        accumulation=accumulation_seconds(batch, weights, sustained.memory, c),
        optimizer=optimizer_seconds(batch, weights, sustained.memory, c),
        offload=offload_seconds(batch, weights, c),
        overhead=np.full(1, c.step_seconds),
    )


def _micro_batch(batch: Batch, weights: LocalWeights, sustained: Rates, c: Constants) -> _Micro:
    layer = layer_seconds(batch, sustained, c)
    count = stage_layers(batch)
    parts = {name: _sum(value, count) for name, value in _named(layer).items()}
    device = sum(parts.values(), np.zeros(1))
    parts["sharding"] = sharding_seconds(batch, weights, device, c)
    parts["launch"] = launch_seconds(batch, device + parts["sharding"], count, c)
    backward = BACKWARD_SHARE * (device + parts["launch"])
    return _Micro(parts=parts, head=_head(batch, sustained, c), backward=backward)


def _named(layer: LayerSeconds) -> dict[str, Array]:
    return {
        "matmul": layer.products_forward + layer.products_backward,
        "attention": layer.attention_forward + layer.attention_backward,
        "elementwise": layer.elementwise_forward + layer.elementwise_backward,
        "routing": layer.routing_forward + layer.routing_backward,
        "recompute": layer.recompute,
        "tensor_parallel": 2 * layer.tensor_comm + _share(layer, layer.tensor_comm),
        "context_parallel": 3 * layer.context_comm,
        "expert_parallel": 2 * layer.expert_comm + _share(layer, layer.expert_comm),
    }


def _share(layer: LayerSeconds, part: Array) -> Array:
    """The part's share of the collectives that recomputation repeats."""
    total = layer.tensor_comm + layer.expert_comm
    result: Array = layer.recompute_comm * part / np.where(total > 0, total, 1.0)
    return result


def _sum(value: Array, count: Array) -> Array:
    """Over the kinds of layers: (g, n) to (n,)."""
    result: Array = np.sum(value * count, axis=0)
    return result


def _head(batch: Batch, sustained: Rates, c: Constants) -> Array:
    """Output layer and loss: three products (two when the weights are frozen) and passes."""
    recipe = batch.recipe
    product = head_product(batch)
    products = product_seconds(product, batch, sustained, c) * np.where(
        recipe.adapters > 0, 2.0, 3.0
    )
    logits = product.m * product.n
    per_logit = logit_traffic(batch) * recipe.activation_bytes / 2
    result: Array = products + c.logit_bytes * logits * per_logit / sustained.memory
    return result


def logit_traffic(batch: Batch) -> Array:
    """Bytes that the loss moves per logit in 16 bits, (n,)."""
    result: Array = np.where(
        batch.recipe.native > 0, IN_PLACE_TRAFFIC, LOGIT_TRAFFIC[batch.parallel.loss]
    )
    return result


def sharding_seconds(batch: Batch, weights: LocalWeights, device: Array, c: Constants) -> Array:
    """Exposed gathers (forward, backward) and scatter of one micro-batch under full sharding."""
    sharded = (batch.parallel.sharding == ZERO3) | (batch.parallel.sharding == HSDP)
    if not sharded.any():
        return np.zeros(1)
    group, recipe = shard_group(batch), batch.recipe
    size = weights.unsharded
    frozen = recipe.adapters > 0
    gather = gather_seconds(size * recipe.activation_bytes, group, batch, c)
    scatter = gather_seconds(size * recipe.reduce_bytes, group, batch, c)
    comm = 2 * gather + np.where(frozen, 0.0, scatter)
    exposed = np.maximum(comm - c.gather_hidden * device, 0) + c.gather_floor * np.minimum(
        comm, device
    )
    result: Array = np.where(sharded, exposed, 0.0)
    return result


def _transfers(batch: Batch, c: Constants) -> Array:
    """Activations sent to the next stage, per micro-batch; hidden but for the start-up."""
    parallel = batch.parallel
    result: Array = np.where(parallel.pp > 1, 2 * c.collective_seconds * parallel.interleave, 0.0)
    return result
