"""Memory outside the steady state: initialisation, saving, the host's share, the disk."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.choices import OFFLOADS
from planner.engine.configuration import Configuration
from planner.engine.constants import Constants
from planner.engine.memory import MemoryBytes, loading, peak, states
from planner.engine.phases import Step

HOST_BUFFER_FACTOR = 1.5  # DeepSpeed's estimator of host memory for offloaded states


def phase_bytes(
    one: Batch,
    c: Constants,
    held: MemoryBytes | None = None,
    moments: dict[str, Step] | None = None,
) -> dict[str, float]:
    """Bytes on the fullest device in each phase of a run.

    `initialisation`: weights and FP32 masters before the first step, or whole weights where every
    rank loads them. `forward_end`, `backward` and `update` within a step, of which `training` is
    the highest. `saving_full_checkpoint`: saving gathers the whole unsharded weights on one device
    when the states are sharded, the way that full checkpoints are written unless each rank saves
    its own shard. `held` and `moments` are the peak of `one` where the caller already has it.
    """
    if held is None or moments is None:
        held, moments = peak(one, c)
    kept = held.weights + held.gradients + held.master_weights + held.moments + held.frozen
    weights = one.shape.params_total * one.recipe.activation_bytes
    sharded = one.parallel.shard_degree > 1
    saving = kept + held.context + np.where(sharded, weights, 0.0)
    resident = held.weights + held.master_weights + held.frozen
    whole = loading(one, moments["first"].held)
    return {
        "initialisation": _first(
            np.maximum(resident, whole + resident * (whole > 0)) + held.context
        ),
        **_step_phases(one, c, moments, _first(held.context)),
        "training": _first(held.total),
        "saving_full_checkpoint": _first(saving),
    }


def _step_phases(
    one: Batch, c: Constants, ends: dict[str, Step], context: float
) -> dict[str, float]:
    """The phases of one step, each on the pipeline stage where it is highest."""
    standing = {
        stage: sum(_first(part) for part in states(one, step.held).values())
        + _first(step.standing_gradients)
        + _first(step.buffers)
        for stage, step in ends.items()
    }

    def highest(*names: str) -> float:
        peaks = (
            standing[stage] + _first(getattr(step, name).total)
            for stage, step in ends.items()
            for name in names
        )
        return max(peaks) * c.reserve + context

    return {
        "forward_end": highest("head_forward"),
        "backward": highest("head_backward", "layers_backward"),
        "update": highest("optimizer"),
    }


def checkpoint_bytes(one: Batch) -> float:
    """Size on disk of one checkpoint with the optimizer, whole model.

    Weights in their training format, FP32 master weights and moments of what is trained.
    """
    recipe, shape = one.recipe, one.shape
    train = shape.trainable_params
    states = train * (recipe.weight_bytes + recipe.master_bytes + recipe.moment_bytes)
    frozen = np.where(recipe.adapters > 0, 0.0, shape.params_total - train) * recipe.frozen_bytes
    return _first(states + frozen)


def host_bytes(one: Batch, configuration: Configuration) -> float | None:
    """Host memory of one node for offloaded states; None without offload.

    16 bytes per parameter for the optimizer's states and gradients (ZeRO-Offload), times a buffer
    factor, shared by the nodes of a sharding group.
    """
    if configuration.offload == OFFLOADS[0]:
        return None
    nodes = max(configuration.num_devices // configuration.devices_per_node, 1)
    per_parameter = 16.0 + (2.0 if configuration.offload == OFFLOADS[2] else 0.0)
    size = _first(one.shape.trainable_params) * per_parameter * HOST_BUFFER_FACTOR
    return size / nodes


def _first(value: Any) -> float:
    return float(np.asarray(value).flat[0])
