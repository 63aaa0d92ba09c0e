"""Peak memory of a device as a sum of named parts, and as the maximum over the step's moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.choices import OFFLOADS
from planner.engine.constants import Constants
from planner.engine.gathered import level
from planner.engine.phases import Moment, Step, step_moments, work
from planner.engine.records import names
from planner.engine.weights import StageWeights, stage_weights

Array = np.ndarray[Any, np.dtype[Any]]

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
    buffers: Array  # of gradient communication
    activations: Array
    logits: Array
    working: Array  # temporaries of the backward pass or of the optimizer step
    reserve: Array  # what the allocator holds beyond what it hands out
    context: Array  # driver context, libraries, communicators: outside the allocator

    @property
    def total(self) -> Array:
        """What the device shows as used."""
        return self.reserved + self.context

    @property
    def reserved(self) -> Array:
        """What the framework's allocator holds."""
        return self.allocated + self.reserve

    @property
    def allocated(self) -> Array:
        """What the framework's allocator hands out at the peak."""
        return (
            self.weights
            + self.gradients
            + self.master_weights
            + self.moments
            + self.frozen
            + self.gathered
            + self.buffers
            + self.activations
            + self.logits
            + self.working
        )


def memory_bytes(batch: Batch, c: Constants, stage: str = "worst") -> MemoryBytes:
    """Parts of the peak on the `first`, `middle` (second), `last` or `worst` pipeline stage.

    The first stage holds the most micro-batches in flight, the last one the output layer. The
    second stage decides only where dense layers in front leave it more of the sparse ones.
    """
    if stage == "worst":
        return peak(batch, c)[0]
    return _stage(batch, c, step_of(batch, stage))


def peak(batch: Batch, c: Constants) -> tuple[MemoryBytes, dict[str, Step]]:
    """The worst stage's parts, and the moments of a step on every stage that was looked at."""
    if batch.table is not None:
        from planner.engine import traced_memory  # what follows knows transformers alone

        return traced_memory.peak(batch, c)
    mine = work(batch)
    stages = ["first"]
    if (batch.parallel.pp > 1).any():
        stages.append("last")
        if len(batch.shape.blocks.count) > 1 and (batch.parallel.pp > 2).any():
            stages.append("middle")
    steps = {
        stage: step_moments(batch, stage_weights(batch, stage), stage, mine) for stage in stages
    }
    found = _stage(batch, c, steps["first"])
    for stage in stages[1:]:
        found = _larger(found, _stage(batch, c, steps[stage]))
    return found, steps


def _larger(one: MemoryBytes, other: MemoryBytes) -> MemoryBytes:
    """Of each candidate the stage that needs more."""
    worse = other.total > one.total
    return MemoryBytes(
        **{
            name: np.where(worse, getattr(other, name), getattr(one, name))
            for name in names(MemoryBytes)
        }
    )


def states(batch: Batch, held: StageWeights) -> dict[str, Array]:
    """Bytes of weights and optimizer states that a device holds all the time, by part."""
    recipe, parallel, stage = batch.recipe, batch.parallel, level(batch)
    own = np.where(stage >= 1, held.trainable_sharded, held.trainable)
    trained = np.where(stage >= 3, held.trainable_sharded, held.trainable)
    on_device = parallel.offload == NO_OFFLOAD
    weights_here = parallel.offload != ALL_OFFLOAD
    parts = {
        "weights": trained * recipe.weight_bytes * weights_here,
        "master_weights": own * recipe.master_bytes * on_device,
        "moments": own * recipe.moment_bytes * on_device,
        "frozen": np.zeros(1),
    }
    if recipe.adapters.any():
        layers = np.where(stage >= 3, held.frozen_sharded, held.frozen)
        outer = np.where(stage >= 3, held.frozen_outer_sharded, held.frozen_outer)
        frozen = layers * recipe.frozen_bytes + outer * batch.software.frozen_outer_bytes
        parts["frozen"] = frozen * weights_here
    return parts


def step_of(batch: Batch, stage: str) -> Step:
    """The moments of a step on one pipeline stage."""
    return step_moments(batch, stage_weights(batch, stage), stage, work(batch))


def _stage(batch: Batch, c: Constants, step: Step) -> MemoryBytes:
    kept, load = states(batch, step.held), loading(batch, step.held)
    return assemble(batch, c, kept, step, step.worst, load)


def loading(batch: Batch, held: StageWeights) -> Array:
    """Bytes at start-up where every rank loads the whole weights before they are sharded."""
    whole = (batch.software.whole_at_load > 0) & (level(batch) >= 3)
    if not whole.any():
        return np.zeros(1)
    recipe, software = batch.recipe, batch.software
    trained = held.trainable * recipe.weight_bytes
    frozen = held.frozen * recipe.frozen_bytes + held.frozen_outer * software.frozen_outer_bytes
    result: Array = np.where(whole, trained + frozen, 0.0)
    return result


def assemble(
    batch: Batch, c: Constants, kept: dict[str, Array], step: Step, moment: Moment, load: Array
) -> MemoryBytes:
    """The parts at one moment of the step."""
    gathered = np.maximum(moment.gathered, load - moment.total + moment.gathered)
    parts = {
        **kept,
        "gradients": step.standing_gradients + moment.gradients,
        "gathered": gathered,
        "buffers": step.buffers,
        "activations": moment.activations,
        "logits": moment.logits,
        "working": moment.working,
    }
    allocated = sum(parts.values(), np.zeros(1))
    return MemoryBytes(**parts, reserve=(c.reserve - 1) * allocated, context=_context(batch, c))


def _context(batch: Batch, c: Constants) -> Array:
    parallel = batch.parallel
    groups = (
        (parallel.tp > 1) * 1.0
        + (parallel.pp > 1)
        + (parallel.cp > 1)
        + (parallel.ep > 1)
        + (parallel.dp > 1)
    )
    result: Array = c.context_bytes + c.communicator_bytes * groups
    return result
