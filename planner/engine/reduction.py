"""Exposed time of reducing gradients over the data-parallel ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.choices import SHARDINGS
from planner.engine.collectives import Group, all_reduce_seconds, data_group, gather_seconds
from planner.engine.constants import Constants
from planner.engine.weights import LocalWeights

Array = np.ndarray[Any, np.dtype[Any]]

ZERO1, ZERO3, HSDP = (SHARDINGS.index(word) for word in ("zero1", "zero3", "hsdp"))


def reduction_seconds(batch: Batch, weights: LocalWeights, backward: Array, c: Constants) -> Array:
    """Exposed gradient reduction (and parameter gather of a sharded optimizer) once a step, (n,).

    `backward` is the time of one micro-batch's backward pass, which can hide it.
    """
    hidden = np.where(batch.recipe.overlap_grads > 0, c.reduce_hidden, 0.0)
    whole = (batch.parallel.sharding == ZERO3) | (batch.parallel.sharding == HSDP)
    if not whole.any():
        return _unsharded(batch, weights, backward, hidden, c)
    replicas: Array = _replica_reduction(batch, weights, c) * (1 - hidden)
    if whole.all():
        return replicas
    result: Array = np.where(whole, replicas, _unsharded(batch, weights, backward, hidden, c))
    return result


def _unsharded(
    batch: Batch, weights: LocalWeights, backward: Array, hidden_reduce: Array, c: Constants
) -> Array:
    """Where every rank holds whole weights: gradients are reduced, updated shards gathered."""
    parallel, recipe = batch.parallel, batch.recipe
    group = data_group(batch)
    size = weights.trainable_dense
    reduce = gather_seconds(size * recipe.reduce_bytes, group, batch, c)
    gather = gather_seconds(size * recipe.activation_bytes, group, batch, c)
    plain = parallel.sharding < ZERO1
    second = np.where(plain, reduce, gather)
    expert = _expert_reduction(batch, weights, c)
    hidden_gather = np.where(recipe.overlap_params > 0, c.reduce_hidden, 0.0)
    hidden_second = np.where(plain, hidden_reduce, hidden_gather)
    exposed = (reduce + expert) * (1 - hidden_reduce) + second * (1 - hidden_second)
    spill = np.maximum(reduce + expert - backward, 0) * hidden_reduce
    result: Array = exposed + spill
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
