"""What a product of a step takes beyond its steady time: its weight is no longer in the caches.

Repeated calls find their operands in the last-level cache. In a step each weight is read once in a
pass, long after the last time, while activations come from the operation before.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from planner.profile_device.products import is_product
from planner.profile_device.reader import Measured

Array = np.ndarray[Any, np.dtype[Any]]


def cold_seconds_per_byte(results: Sequence[Measured], number_format: str) -> float:
    """Seconds that a byte outside the caches adds to a product of a format: the median over shapes
    that were measured both cold and steady. 0 where none was."""
    rows = [each for each in results if each.format == number_format and is_product(each)]
    steady = {_shape(each): each.seconds for each in rows if each.mode == "steady"}
    added = [
        (each.seconds - steady[_shape(each)]) / each.bytes
        for each in rows
        if each.mode == "cold" and _shape(each) in steady
    ]
    return max(median(added), 0.0) if added else 0.0


def _shape(row: Measured) -> tuple[tuple[str, int | str], ...]:
    return tuple(sorted(row.shape.items()))


def cold_seconds(
    weight_bytes: Array | float, moved_bytes: Array | float, cache_bytes: float, per_byte: float
) -> Array:
    """Seconds that a product's weight adds; none where the product's own traffic outgrows the
    caches, since its steady time has that already."""
    weight, moved = np.asarray(weight_bytes, dtype=np.float64), np.asarray(moved_bytes)
    result: Array = np.where(moved < cache_bytes, weight * per_byte, 0.0)
    return result
