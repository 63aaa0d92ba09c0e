"""Memory that a CPU's step takes from the system anew and gives back.

A C library's allocator keeps what is freed only up to a threshold at the top of its heap; what a
step needs beyond that is mapped page by page in every step. The thresholds are glibc's, which
adapts them to the blocks that it has seen (mallopt(3): M_MMAP_THRESHOLD, M_TRIM_THRESHOLD).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.engine.constants import constants
from planner.engine.memory import memory_bytes

if TYPE_CHECKING:
    from planner.engine.batch import Batch
    from planner.profile_device.figures import Figures

LARGEST_BLOCK = 32 * 2**20  # bytes: larger ones never come from the heap
KEPT_BLOCKS = 2  # free blocks of the largest size that stay at the top of the heap


def mapped_seconds(batch: Batch, figures: Figures) -> float:
    """Seconds of one optimizer step; 0 where the profile did not time it or no CPU was measured."""
    if not figures.mapping_seconds_per_byte:
        return 0.0
    held = memory_bytes(batch, constants())
    gradients = float(np.max(held.gradients))
    working = (held.gathered, held.buffers, held.activations, held.logits, held.working)
    passing = sum(float(np.max(each)) for each in working)
    steps = float(np.max(batch.parallel.accumulation))
    kept = KEPT_BLOCKS * min(_largest(batch), LARGEST_BLOCK)
    last = max(passing + gradients - kept, 0.0)  # gradients stay from micro-step to micro-step
    return figures.mapping_seconds_per_byte * (last + (steps - 1) * max(passing - kept, 0.0))


def _largest(batch: Batch) -> float:
    """Bytes of the largest block that the heap has seen: logits or the gradient of the embedding;
    of a traced module, the gradient of its largest parameter."""
    if batch.table is not None:
        return 4.0 * batch.table.largest
    shape, parallel = batch.shape, batch.parallel
    logits = parallel.micro_batch * parallel.seq_len * shape.vocab
    return 4.0 * float(np.max(np.maximum(logits, shape.input_embedding_params)))
