"""What each way of measuring memory counts of a peak."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.constants import Constants
from planner.engine.memory import MemoryBytes

Array = np.ndarray[Any, np.dtype[Any]]

METERS = ("allocated", "active", "compiled", "reserved", "nvidia-smi")


def meter_bytes(batch: Batch, held: MemoryBytes, c: Constants, meter: str) -> Array:
    """Bytes that `meter` shows at the peak, (n,).

    `allocated`, `active` and `compiled` count what is handed out; `reserved` what the allocator
    holds, blocks kept for reuse included; `nvidia-smi` the driver's context as well.
    """
    assert meter in METERS, f"{meter!r} is none of {METERS}"
    if meter in ("allocated", "active", "compiled"):
        return held.allocated
    seen = held.reserved + cached_bytes(batch, held, c)
    return seen if meter == "reserved" else seen + held.context


def cached_bytes(batch: Batch, held: MemoryBytes, c: Constants) -> Array:
    """Blocks that the allocator keeps for reuse and gives back when memory runs short, (n,).

    Where batches differ in length, the blocks of the logits fit no later batch, so that old and
    new ones stay side by side. They never make a run fail, hence they are no part of the total.
    """
    wanted = (c.reserve_varied - 1) * held.logits * (batch.software.varied_lengths > 0)
    room = np.maximum(batch.machine.capacity - held.total, 0.0)
    result: Array = np.fmin(wanted, room)
    return result
