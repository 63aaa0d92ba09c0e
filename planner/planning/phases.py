"""Memory outside the steady state: initialisation, saving, the host's share, the disk."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.choices import OFFLOADS
from planner.engine.configuration import Configuration
from planner.engine.constants import Constants
from planner.engine.memory import memory_bytes

HOST_BUFFER_FACTOR = 1.5  # DeepSpeed's estimator of host memory for offloaded states


def phase_bytes(one: Batch, c: Constants) -> dict[str, float]:
    """Bytes on the fullest device at initialisation, while training, and while saving.

    Saving gathers the whole unsharded weights on one device when the states are sharded, the way
    that full checkpoints are written unless each rank saves its own shard.
    """
    held = memory_bytes(one, c)
    states = held.weights + held.gradients + held.master_weights + held.moments + held.frozen
    weights = one.shape.params_total * one.recipe.activation_bytes
    sharded = one.parallel.shard_degree > 1
    saving = states + held.context + np.where(sharded, weights, 0.0)
    return {
        "initialisation": _first(held.weights + held.master_weights + held.frozen + held.context),
        "training": _first(held.total),
        "saving_full_checkpoint": _first(saving),
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
    return float(np.ravel(value)[0])
