"""Peak memory of a traced module: its own moments, and states as everywhere.

The trace knows every tensor while it lives, so activations at any micro-batch are exact for the
kernels traced. Sharding divides states and gradients; a sharded unit is whole while it runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.engine.activations import formats
from planner.engine.batch import Batch
from planner.engine.choices import OFFLOADS, RECOMPUTES
from planner.engine.constants import Constants
from planner.engine.gathered import ALL_OFFLOAD, gathered, level
from planner.engine.memory import MemoryBytes, assemble, states
from planner.engine.phases import Moment, Step
from planner.engine.weights import StageWeights, stage_weights

if TYPE_CHECKING:
    from planner.engine.table import Table, Work

Array = np.ndarray[Any, np.dtype[Any]]

FULL = RECOMPUTES.index("full")
NO_OFFLOAD = OFFLOADS.index("none")
FROZEN_BYTES = {"pure-bf16": 2.0}  # per parameter; 4 in the other precisions


def peak(batch: Batch, c: Constants) -> tuple[MemoryBytes, dict[str, Step]]:
    """The parts of the peak, and the moments of a step."""
    table = batch.table
    assert table is not None
    held = weights_of(table, batch)
    step = _step(table, batch, held)
    kept = states(batch, held)
    frozen = (table.params - table.trainable) * FROZEN_BYTES.get(batch.precision, 4.0)
    kept["frozen"] = frozen / _split(batch, 3) + np.full(1, float(table.buffer_bytes))
    return assemble(batch, c, kept, step, step.worst, np.zeros(1)), {"first": step}


def weights_of(table: Table, batch: Batch) -> StageWeights:
    """What a device holds: only what trains has states, and a unit is what is gathered."""
    held = stage_weights(batch, "first")
    return replace(
        held,
        trainable=np.full(1, float(table.trainable)),
        trainable_sharded=table.trainable / batch.parallel.shard_degree,
        layer=np.full(1, float(table.unit)),
        outer=np.zeros(1),
        head=np.full(1, float(table.largest)),
        down=np.zeros(1),
    )


def _split(batch: Batch, stage: float | Array) -> Array:
    """Devices that share a state which this sharding stage divides, (n,)."""
    result: Array = np.where(level(batch) >= stage, batch.parallel.shard_degree, 1.0)
    return result


def _step(table: Table, batch: Batch, held: StageWeights) -> Step:
    """The moments that the trace found highest, and the update."""
    software, parallel, recipe = batch.software, batch.parallel, batch.recipe
    whole = gathered(batch, formats(batch), held, np.full(1, float(table.units)))
    sharded = (level(batch) >= 3) | (parallel.offload == ALL_OFFLOAD)
    unit = recipe.activation_bytes * np.minimum(software.gathered_units, table.units) * table.unit
    gather = np.where(sharded, unit, 0.0)
    stands = (software.main_gradients > 0) | (parallel.accumulation > 1)
    here = (parallel.offload == NO_OFFLOAD) * 1.0
    own = held.trainable * recipe.grad_bytes * here / _split(batch, recipe.grad_shard_from)
    share = np.where(stands, 0.0, here / _split(batch, recipe.grad_shard_from))
    forward, backward = _moments(table, batch, share, gather, whole.gradients)
    return Step(
        held=held,
        head_forward=forward,
        head_backward=backward,
        layers_backward=backward,
        optimizer=_update(table, batch, held, np.where(stands, 0.0, own)),
        standing_gradients=np.where(stands, own, 0.0),
        buffers=whole.buffers,
    )


def _moments(
    table: Table, batch: Batch, share: Array, gather: Array, unit_gradients: Array
) -> tuple[Moment, Moment]:
    """The end of the forward pass, and the highest moment of the step, (n,) each."""
    plain = _highest(table.work(batch.precision), batch, share)
    full = batch.parallel.recompute == FULL
    if full.any():
        other = _highest(table.work(batch.precision, "full"), batch, share)
        plain = tuple(np.where(full, b, a) for a, b in zip(plain, other, strict=True))
    alive, gradients, saved = plain
    kept, zero = np.minimum(saved, alive), np.zeros(1)
    end = Moment(gradients=zero, gathered=gather, activations=saved, logits=zero, working=zero)
    highest = Moment(
        gradients=gradients,
        gathered=gather,
        activations=kept,
        logits=zero,
        working=alive - kept + unit_gradients,
    )
    return end, highest


def _highest(work: Work, batch: Batch, share: Array) -> tuple[Array, ...]:
    """(activations alive, gradients alive, saved for the backward pass) at the highest moment."""
    samples = np.atleast_1d(batch.parallel.micro_batch)
    base, slope, gradients = (column[:, None] for column in work.moments.T)
    alive = base + slope * samples  # (k, n)
    mine = gradients * share
    which = np.argmax(alive + mine, axis=0)[None]
    saved = work.saved[0] + work.saved[1] * samples
    size = np.broadcast_shapes(alive.shape, mine.shape)
    which = np.broadcast_to(which, (1, size[1]))
    taken = [
        np.take_along_axis(np.broadcast_to(each, size), which, axis=0)[0] for each in (alive, mine)
    ]
    return taken[0], taken[1], saved


def _update(table: Table, batch: Batch, held: StageWeights, gradients: Array) -> Moment:
    """All gradients and what the update allocates."""
    recipe, parallel = batch.recipe, batch.parallel
    here = parallel.offload == NO_OFFLOAD
    own = held.trainable / _split(batch, 1)
    largest = table.largest / _split(batch, 1)
    zero = np.zeros(1)
    return Moment(
        gradients=gradients,
        gathered=zero,
        activations=np.zeros(1),
        logits=zero,
        working=(recipe.update_temporary * own + recipe.update_largest * largest) * here,
    )
