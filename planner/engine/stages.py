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
