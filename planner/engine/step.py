"""Seconds of one optimizer step as a sum of named parts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.choices import OFFLOADS, SHARDINGS
from planner.engine.collectives import (
    Group,
    all_reduce_seconds,
    data_group,
    gather_seconds,
    shard_group,
)
from planner.engine.constants import Constants
from planner.engine.layer import FULL, LayerSeconds, layer_seconds
from planner.engine.operations import head_product
from planner.engine.rates import bandwidth, product_seconds
from planner.engine.stages import stage_layers
from planner.engine.weights import LocalWeights, local_weights

Array = np.ndarray[Any, np.dtype[Any]]

ZERO3, HSDP = SHARDINGS.index("zero3"), SHARDINGS.index("hsdp")
ZERO1 = SHARDINGS.index("zero1")
NO_OFFLOAD = OFFLOADS.index("none")

QUANTISED_EXPERT = 3.0  # host work of an expert whose operands are scaled and cast one by one
FP32_LOGIT_PASSES = 2.2  # passes over the logits of an eager FP32 cross-entropy, both directions


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
        return sum((getattr(self, item.name) for item in fields(self)), np.zeros(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Micro:
    """One micro-batch on one pipeline stage, seconds, (n,)."""

    parts: dict[str, Array]
    head: Array
    backward: Array  # device seconds of the layers' backward pass

    @property
    def layers(self) -> Array:
        return sum(self.parts.values(), np.zeros(1))


def step_seconds(batch: Batch, c: Constants) -> StepSeconds:
    """The parts of one optimizer step of every candidate."""
    parallel = batch.parallel
    weights = local_weights(batch)
    micro = _micro_batch(batch, weights, c)
    steps = parallel.accumulation
    bubble = micro.layers * (parallel.pp - 1) / parallel.interleave
    parts = {name: value * steps for name, value in micro.parts.items()}
    return StepSeconds(
        **parts,
        output_layer=micro.head * steps,
        pipeline=bubble + _transfers(batch, c) * steps,
        data_parallel=_data_parallel(batch, weights, micro.backward, c),
        accumulation=_accumulation(batch, weights, c),
        optimizer=_optimizer(batch, weights, c),
        offload=_offload(batch, weights, c),
        overhead=np.full(1, c.step_seconds),
    )


def _micro_batch(batch: Batch, weights: LocalWeights, c: Constants) -> _Micro:
    layer = layer_seconds(batch, c)
    count = stage_layers(batch)
    parts = {name: _sum(value, count) for name, value in _named(layer).items()}
    backward = _sum(layer.products_backward + layer.attention_backward + layer.recompute, count)
    device = sum(parts.values(), np.zeros(1))
    parts["sharding"] = _sharding(batch, weights, device, c)
    parts["launch"] = _launch(batch, device + parts["sharding"], count, c)
    return _Micro(parts=parts, head=_head(batch, c), backward=backward)


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


def _launch(batch: Batch, device: Array, count: Array, c: Constants) -> Array:
    """Time that the host adds: a queue hides launches behind long kernels, not behind short ones.

    Soft maximum of device and host time, minus the device time.
    """
    host = _sum(host_seconds(batch, c), count)
    power = c.overlap_power
    both = (device**power + host**power) ** (1 / power)
    result: Array = both - device
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
    result: Array = dense * (1 - recipe.graphs * left) + routed * (
        1 - recipe.graphs_experts * left
    )
    return result


def _head(batch: Batch, c: Constants) -> Array:
    """Output layer and loss: three products (two when the weights are frozen) and passes."""
    recipe = batch.recipe
    product = head_product(batch)
    products = product_seconds(product, batch, c) * np.where(recipe.adapters > 0, 2.0, 3.0)
    logits = product.m * product.n
    per_logit = FP32_LOGIT_PASSES * (2 * recipe.activation_bytes + 16 * recipe.fp32_loss + 4)
    result: Array = products + c.logit_bytes * logits * per_logit / bandwidth(batch, c)
    return result


def _sharding(batch: Batch, weights: LocalWeights, device: Array, c: Constants) -> Array:
    """Exposed gathers (forward, backward) and scatter of one micro-batch under full sharding."""
    sharded = (batch.parallel.sharding == ZERO3) | (batch.parallel.sharding == HSDP)
    if not np.any(sharded):
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


def _data_parallel(batch: Batch, weights: LocalWeights, backward: Array, c: Constants) -> Array:
    """Exposed gradient reduction (and parameter gather of a sharded optimizer) once a step."""
    parallel, recipe = batch.parallel, batch.recipe
    group = data_group(batch)
    size = weights.trainable_dense
    reduce = gather_seconds(size * recipe.reduce_bytes, group, batch, c)
    gather = gather_seconds(size * recipe.activation_bytes, group, batch, c)
    plain = parallel.sharding < ZERO1
    second = np.where(plain, reduce, gather)
    expert = _expert_reduction(batch, weights, c)
    hidden_reduce = np.where(recipe.overlap_grads > 0, c.reduce_hidden, 0.0)
    hidden_gather = np.where(recipe.overlap_params > 0, c.reduce_hidden, 0.0)
    hidden_second = np.where(plain, hidden_reduce, hidden_gather)
    exposed = (reduce + expert) * (1 - hidden_reduce) + second * (1 - hidden_second)
    spill = np.maximum(reduce + expert - backward, 0) * hidden_reduce
    whole = (parallel.sharding == ZERO3) | (parallel.sharding == HSDP)
    replicas = _replica_reduction(batch, weights, c)
    result: Array = np.where(whole, replicas * (1 - hidden_reduce), exposed + spill)
    return result


def _expert_reduction(batch: Batch, weights: LocalWeights, c: Constants) -> Array:
    parallel = batch.parallel
    group = Group(
        size=np.maximum(parallel.dp * parallel.cp / parallel.ep, 1),
        stride=parallel.tp * parallel.ep,
    )
    size = weights.trainable_expert
    wire = batch.recipe.reduce_bytes + batch.recipe.activation_bytes
    return gather_seconds(size * wire, group, batch, c)


def _replica_reduction(batch: Batch, weights: LocalWeights, c: Constants) -> Array:
    """All-reduce of the shards between the replicas of a hybrid-sharded layout."""
    parallel = batch.parallel
    replicas = np.maximum(parallel.dp * parallel.cp / parallel.shard_degree, 1)
    group = Group(size=replicas, stride=parallel.tp * parallel.shard_degree)
    size = (weights.trainable_dense + weights.trainable_expert) / parallel.shard_degree
    return all_reduce_seconds(size * batch.recipe.reduce_bytes, group, batch, c)


def _transfers(batch: Batch, c: Constants) -> Array:
    """Activations sent to the next stage, per micro-batch; hidden but for the start-up."""
    parallel = batch.parallel
    result: Array = np.where(parallel.pp > 1, 2 * c.collective_seconds * parallel.interleave, 0.0)
    return result


def _accumulation(batch: Batch, weights: LocalWeights, c: Constants) -> Array:
    steps = batch.parallel.accumulation
    whole = (batch.parallel.sharding == ZERO3) | (batch.parallel.sharding == HSDP)
    size = weights.trainable_dense + weights.trainable_expert
    size = size / np.where(whole, batch.parallel.shard_degree, 1)
    traffic = 2 * batch.recipe.grad_bytes * c.accumulate_traffic
    seconds = size * traffic / bandwidth(batch, c) * steps
    result: Array = np.where(steps > 1, seconds, 0.0)
    return result


def _optimizer(batch: Batch, weights: LocalWeights, c: Constants) -> Array:
    traffic = weights.updated * batch.recipe.update_traffic * c.update_traffic
    on_device = batch.parallel.offload == NO_OFFLOAD
    result: Array = np.where(on_device, traffic / bandwidth(batch, c), 0.0)
    return result


HOST_UPDATE_BYTES_PER_SECOND = 2.0e10  # one device's share of host memory in a CPU Adam step


def _offload(batch: Batch, weights: LocalWeights, c: Constants) -> Array:
    """Gradients to the host, the update there, parameters back; parameters each micro-step too."""
    parallel, recipe = batch.parallel, batch.recipe
    if np.all(parallel.offload == NO_OFFLOAD):
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
