"""How many parameters a device holds, gathers and updates under a layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.choices import SHARDINGS
from planner.engine.stages import layers_on, stage_layers

Array = np.ndarray[Any, np.dtype[Any]]

ZERO3, HSDP = SHARDINGS.index("zero3"), SHARDINGS.index("hsdp")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalWeights:
    """Parameters of one device on the critical stage, (n,) each."""

    unsharded: Array  # of the stage after tensor and expert parallelism, before sharding
    resident: Array  # held between steps: divided by the sharding degree under full sharding
    trainable_dense: Array  # trainable, outside routed experts, before sharding
    trainable_expert: Array  # trainable routed experts, before sharding
    updated: Array  # that this device's optimizer updates


def local_weights(batch: Batch) -> LocalWeights:
    """Split of the parameters over tensor, pipeline, expert and sharding groups."""
    parallel = batch.parallel
    dense, expert = stage_parameters(batch)
    unsharded = dense + expert
    trainable = batch.shape.trainable_params / batch.shape.params_total
    whole = (parallel.sharding == ZERO3) | (parallel.sharding == HSDP)
    return LocalWeights(
        unsharded=unsharded,
        resident=unsharded / np.where(whole, parallel.shard_degree, 1),
        trainable_dense=dense * trainable,
        trainable_expert=expert * trainable,
        updated=(dense / parallel.shard_degree + expert / _expert_shard(batch)) * trainable,
    )


def stage_parameters(
    batch: Batch, *, embeddings: float = 1.0, count: Array | None = None
) -> tuple[Array, Array]:
    """(dense, expert) parameters of one device on the fullest stage, before sharding.

    `count` names the layers of each kind on a stage, (g, n), in place of an even share.

    Tensor parallelism divides everything but norms and routers; the embedding or the output layer
    sits on the first or the last stage.
    """
    blocks, parallel = batch.shape.blocks, batch.parallel
    count = stage_layers(batch) if count is None else count
    split = blocks.attention_params + blocks.ffn_params + blocks.shared_params
    dense = np.sum(
        (split / parallel.tp + blocks.norm_params + blocks.router_params) * count, axis=0
    )
    expert = np.sum(blocks.expert_params * count, axis=0) / (parallel.tp * parallel.ep)
    return dense + embeddings * outer_parameters(batch), expert


def outer_parameters(batch: Batch) -> Array:
    """Embedding and output layer on the stage that holds more of them, per device, (n,)."""
    shape, parallel = batch.shape, batch.parallel
    first = shape.input_embedding_params + shape.position_params
    last = np.where(shape.tied > 0, shape.input_embedding_params, 0.0) + shape.head_params
    one_stage = first + shape.head_params
    held = np.where(parallel.pp > 1, np.maximum(first, last), one_stage)
    result: Array = held / parallel.tp + shape.final_params
    return result


def _expert_shard(batch: Batch) -> Array:
    """Sharding degree of routed experts: the data ranks that hold the same experts."""
    parallel = batch.parallel
    result: Array = np.where(
        parallel.shard_degree > 1, np.maximum(parallel.shard_degree / parallel.ep, 1), 1
    )
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class StageWeights:
    """Parameters that one device holds on the first or the last pipeline stage, (n,) each."""

    trainable: Array
    trainable_sharded: Array  # after division over the sharding group
    frozen: Array  # frozen parameters of the layers
    frozen_sharded: Array
    frozen_outer: Array  # frozen embeddings and output layer, kept in 16 bits
    frozen_outer_sharded: Array
    layer: Array  # parameters of the largest layer, gathered
    outer: Array  # embedding and output layer on this stage
    layers_total: Array  # parameters of all layers on this stage
    head: Array  # the output matrix, whether its own or tied, where this stage has it
    down: Array  # the last matrix of a feed-forward network, or of all of a layer's experts
    network: Array  # a layer's feed-forward network or experts


def stage_weights(batch: Batch, stage: str) -> StageWeights:
    """What the `first`, `middle` or `last` stage holds; a single stage holds the whole model."""
    parallel, blocks = batch.parallel, batch.shape.blocks
    count = layers_on(batch, stage)
    dense, expert = stage_parameters(batch, embeddings=0.0, count=count)
    outer = stage_outer(batch, stage)
    degree, expert_degree = parallel.shard_degree, _expert_shard(batch)
    adapters = batch.recipe.adapters > 0
    share = batch.shape.trainable_params / batch.shape.params_total
    train = np.where(adapters, share, 1.0)
    keep = np.where(adapters, 1.0, 0.0)
    expert_layer = blocks.expert_params / (parallel.tp * parallel.ep)
    dense_layer = (blocks.attention_params + blocks.ffn_params + blocks.shared_params) / parallel.tp
    network = expert_layer + (blocks.ffn_params + blocks.shared_params) / parallel.tp
    return StageWeights(
        trainable=(dense + outer + expert) * train,
        trainable_sharded=((dense + outer) / degree + expert / expert_degree) * train,
        frozen=(dense + expert) * keep,
        frozen_sharded=(dense / degree + expert / expert_degree) * keep,
        frozen_outer=outer * keep,
        frozen_outer_sharded=outer / degree * keep,
        layer=np.max((expert_layer + dense_layer) * (blocks.count > 0), axis=0),
        outer=outer,
        layers_total=dense + expert,
        head=_head(batch, stage),
        down=np.max(network * (blocks.count > 0) / (2 + blocks.gated), axis=0),
        network=np.max(network * (blocks.count > 0), axis=0),
    )


def _head(batch: Batch, stage: str) -> Array:
    """Parameters of the output matrix on a stage, per device, (n,)."""
    shape, parallel = batch.shape, batch.parallel
    here = (parallel.pp == 1) | (stage == "last")
    result: Array = np.where(here, shape.vocab * shape.hidden / parallel.tp, 0.0)
    return result


def stage_outer(batch: Batch, stage: str) -> Array:
    """Embedding and output-layer parameters on a stage, per device, (n,)."""
    shape, parallel = batch.shape, batch.parallel
    first = shape.input_embedding_params + shape.position_params
    tied_copy = np.where(shape.tied > 0, shape.input_embedding_params, 0.0)
    if stage == "last":
        alone = tied_copy + shape.head_params + shape.final_params
        held = np.where(parallel.pp > 1, alone, first + shape.head_params + shape.final_params)
    else:
        both = first + shape.head_params + shape.final_params
        held = np.where(parallel.pp > 1, first * (stage == "first"), both)
    result: Array = held / parallel.tp
    return result
