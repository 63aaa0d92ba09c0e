"""How layers are spread over pipeline stages."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.engine.batch import Batch

Array = np.ndarray[Any, np.dtype[Any]]


def stage_layers(batch: Batch) -> Array:
    """Layers of each kind on the fullest pipeline stage, (g, n)."""
    blocks, parallel = batch.shape.blocks, batch.parallel
    total = np.sum(blocks.count, axis=0)
    fullest = np.ceil(total / (parallel.pp * parallel.interleave)) * parallel.interleave
    result: Array = blocks.count * fullest / np.maximum(total, 1)
    return result


def layers_on(batch: Batch, stage: str) -> Array:
    """Layers of each kind on the `first`, the second (`middle`) or the `last` stage, (g, n).

    Kinds follow one another in the model's order (dense layers before sparse ones), so the first
    stage holds the first kinds and the last stage the last ones.
    """
    blocks, parallel = batch.shape.blocks, batch.parallel
    if (parallel.pp == 1).all() or len(blocks.count) == 1:
        return stage_layers(batch)
    total = np.sum(blocks.count, axis=0)
    room = np.ceil(total / (parallel.pp * parallel.interleave)) * parallel.interleave
    count = blocks.count[::-1] if stage == "last" else blocks.count
    before = np.cumsum(count, axis=0) - count
    held = np.clip(room - before, 0.0, count)
    if stage == "middle":
        held = np.clip(2 * room - before, 0.0, count) - held
    result: Array = held[::-1] if stage == "last" else held
    return result
