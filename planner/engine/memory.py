"""Peak memory of a device as a sum of named parts, and as the maximum over the step's phases."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from planner.engine.activations import (
    kept_layer_bytes,
    layer_bytes,
    layer_input_bytes,
    logit_bytes,
)
from planner.engine.batch import Batch
from planner.engine.choices import OFFLOADS, RECOMPUTES, SHARDINGS
from planner.engine.constants import Constants
from planner.engine.stages import stage_layers
from planner.engine.weights import stage_weights

Array = np.ndarray[Any, np.dtype[Any]]

FULL = RECOMPUTES.index("full")
ZERO1, ZERO3, HSDP = (SHARDINGS.index(word) for word in ("zero1", "zero3", "hsdp"))
STAGE = np.array([{"none": 0, "zero1": 1, "zero2": 2, "zero3": 3, "hsdp": 3}.get(w, 0) for w in SHARDINGS])
NO_OFFLOAD = OFFLOADS.index("none")
ALL_OFFLOAD = OFFLOADS.index("params+optimizer")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBytes:
    """Parts of the peak on one pipeline stage, bytes, (n,) each. They add up to `total`."""

    weights: Array
    gradients: Array
    master_weights: Array
    moments: Array
    frozen: Array  # base weights under adapters
    gathered: Array  # parameters gathered or cast for compute
    activations: Array
    logits: Array
    working: Array  # temporaries of the backward pass or of the optimizer step
    reserve: Array  # allocator fragmentation
    context: Array  # driver context, communicators

    @property
    def total(self) -> Array:
        return sum((getattr(self, item.name) for item in fields(self)), np.zeros(1))

    @property
    def allocated(self) -> Array:
        """What the framework's allocator hands out at the peak: without reserve and context."""
        return self.total - self.reserve - self.context


def memory_bytes(batch: Batch, c: Constants, stage: str = "worst") -> MemoryBytes:
    """Parts of the peak on the `first`, `last` or `worst` pipeline stage.

    The first stage holds the most micro-batches in flight, the last one the output layer; every
    other stage needs less than the first.
    """
    if stage != "worst":
        return _stage(batch, c, stage)
    first = _stage(batch, c, "first")
    if np.all(batch.parallel.pp == 1):
        return first
    last = _stage(batch, c, "last")
    worse = last.total > first.total
    return MemoryBytes(
        **{
            item.name: np.where(worse, getattr(last, item.name), getattr(first, item.name))
            for item in fields(MemoryBytes)
        }
    )


def _stage(batch: Batch, c: Constants, stage: str) -> MemoryBytes:
    states = _states(batch, stage)
    kept, logits, working = _activations(batch, c, stage)
    gathered = _gathered(batch, stage)
    update = _update_working(batch, stage)
    computing = kept + logits + working + gathered
    in_update = update > computing
    parts = {
        **states,
        "gathered": np.where(in_update, 0.0, gathered),
        "activations": np.where(in_update, 0.0, kept),
        "logits": np.where(in_update, 0.0, logits),
        "working": np.where(in_update, update, working),
    }
    allocated = sum(parts.values(), np.zeros(1))
    return MemoryBytes(
        **parts, reserve=allocated * (c.reserve - 1), context=_context(batch, c)
    )


def _states(batch: Batch, stage: str) -> dict[str, Array]:
    recipe, parallel = batch.recipe, batch.parallel
    held = stage_weights(batch, stage)
    level = STAGE[parallel.sharding]
    sharded = held.trainable_sharded
    whole = held.trainable
    on_device = parallel.offload == NO_OFFLOAD
    weights_here = parallel.offload != ALL_OFFLOAD
    return {
        "weights": np.where(level >= 3, sharded, whole) * recipe.weight_bytes * weights_here,
        "gradients": np.where(level >= recipe.grad_shard_from, sharded, whole)
        * recipe.grad_bytes
        * weights_here,
        "master_weights": np.where(level >= 1, sharded, whole) * recipe.master_bytes * on_device,
        "moments": np.where(level >= 1, sharded, whole) * recipe.moment_bytes * on_device,
        "frozen": np.where(level >= 3, held.frozen_sharded, held.frozen)
        * recipe.frozen_bytes
        * weights_here
        + np.where(level >= 3, held.frozen_outer_sharded, held.frozen_outer) * 2.0,
    }


def in_flight(batch: Batch, stage: str) -> Array:
    """Micro-batches whose activations a stage holds at its peak under one-forward-one-backward.

    The first stage holds min(m, p); interleaving v virtual stages raises it by
    1 + (p - 1) / (p·v) (Korthikanti et al. 2022, section 4.2.1). The last stage holds one.
    """
    parallel = batch.parallel
    if stage == "last":
        return np.ones(1)
    extra = np.where(
        parallel.interleave > 1, 1 + (parallel.pp - 1) / (parallel.pp * parallel.interleave), 1.0
    )
    result: Array = np.minimum(parallel.accumulation, parallel.pp) * extra
    return result


def _activations(batch: Batch, c: Constants, stage: str) -> tuple[Array, Array, Array]:
    """(kept over the forward pass, logits, temporaries of the backward pass), (n,) each."""
    count = stage_layers(batch)
    kept = np.sum(kept_layer_bytes(batch, c) * count, axis=0) * in_flight(batch, stage)
    one = np.max(layer_bytes(batch, c) * (count > 0), axis=0)
    again = np.where(batch.parallel.recompute == FULL, one, 0.0)
    working = again + c.backward_working * one
    entry = np.max(layer_input_bytes(batch), axis=0)
    has_head = (batch.parallel.pp == 1) | (stage == "last")
    head = np.where(has_head, 3 * entry + logit_bytes(batch, c), 0.0)
    # the loss peaks before the layers' backward pass starts: the larger of both stands
    return kept + entry, np.maximum(head - working, 0.0), working


def _gathered(batch: Batch, stage: str) -> Array:
    """Full sharding gathers two layers and the embedding; autocast keeps 16-bit copies."""
    parallel, recipe = batch.parallel, batch.recipe
    held = stage_weights(batch, stage)
    whole = (parallel.sharding == ZERO3) | (parallel.sharding == HSDP)
    units = (2 * held.layer + held.outer) * recipe.activation_bytes
    result: Array = np.where(whole, units, recipe.cast_bytes * held.trainable)
    return result


def _update_working(batch: Batch, stage: str) -> Array:
    held = stage_weights(batch, stage)
    sharded = STAGE[batch.parallel.sharding] >= 1
    result: Array = np.where(sharded, held.trainable_sharded, held.trainable) * (
        batch.recipe.update_temporary * (batch.parallel.offload == NO_OFFLOAD)
    )
    return result


def _context(batch: Batch, c: Constants) -> Array:
    parallel = batch.parallel
    groups = sum(
        ((size > 1).astype(np.float64) for size in (parallel.tp, parallel.pp, parallel.cp)),
        np.zeros(1),
    )
    groups = groups + (parallel.ep > 1) + (parallel.dp > 1)
    return c.context_bytes + c.communicator_bytes * groups
