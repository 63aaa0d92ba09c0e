"""Seconds of memory-bound work by its size: interpolated between measured sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.profile_device.reader import Measured

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficCurve:
    """Rate of one kernel by the bytes that it must move."""

    bytes: Array  # (n,) ascending
    rates: Array  # (n,) bytes/s

    def seconds(self, moved: Array | float) -> Array:
        """Seconds to move `moved` bytes; beyond the measured sizes the nearest rate holds."""
        size = np.maximum(np.asarray(moved, dtype=np.float64), 1e-9)
        rate = np.exp(np.interp(np.log(size), np.log(self.bytes), np.log(self.rates)))
        result: Array = np.asarray(moved, dtype=np.float64) / rate
        return result

    @property
    def sustained(self) -> float:
        """Rate of the largest measured size, bytes/s."""
        return float(self.rates[-1])


def traffic_of(
    results: Sequence[Measured], kernel: str, number_format: str, **shape: int | str
) -> TrafficCurve | None:
    """The curve of one kernel; `shape` narrows it down. None where it was not measured."""
    rows = {
        each.bytes: each.bytes / each.seconds
        for each in results
        if each.kernel == kernel
        and each.format == number_format
        and each.mode == "steady"
        and each.bytes > 0
        and all(each.shape.get(name) == value for name, value in shape.items())
    }
    return _through(rows)


def looped_update_of(results: Sequence[Measured]) -> TrafficCurve | None:
    """AdamW in a loop over tensors, by the bytes that one of them moves. None where it was not
    measured."""
    return _through(
        {
            each.bytes / _number(each.shape.get("tensors")): each.bytes / each.seconds
            for each in results
            if each.kernel == "adamw" and each.shape.get("variant") == "loop" and each.bytes > 0
        }
    )


def _through(rows: dict[float, float]) -> TrafficCurve | None:
    """The curve through rates by bytes."""
    if not rows:
        return None
    sizes = sorted(rows)
    return TrafficCurve(bytes=np.array(sizes), rates=np.array([rows[size] for size in sizes]))


def _number(tensors: int | str | None) -> int:
    return max(tensors, 1) if isinstance(tensors, int) else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionCurve:
    """Rate of attention by length, FLOP counted as the mask leaves them."""

    lengths: Array  # (n,) ascending
    rates: Array  # FLOP/s

    def seconds(self, flops: Array | float, length: Array | float) -> Array:
        """Seconds of `flops` of attention over sequences of `length` tokens."""
        at = np.log(np.maximum(np.asarray(length, dtype=np.float64), 1))
        rate = np.exp(np.interp(at, np.log(self.lengths), np.log(self.rates)))
        result: Array = np.asarray(flops, dtype=np.float64) / rate
        return result


def attention_of(
    results: Sequence[Measured], number_format: str, *, causal: int, kernel: str
) -> AttentionCurve | None:
    """The curve of `sdpa` or `sdpa_backward`; None where it was not measured."""
    rows = {
        int(each.shape["length"]): each.flops / each.seconds
        for each in results
        if each.kernel == kernel
        and each.format == number_format
        and each.shape.get("causal") == causal
        and isinstance(each.shape.get("length"), int)
    }
    if not rows:
        return None
    lengths = sorted(rows)
    return AttentionCurve(
        lengths=np.array(lengths, dtype=np.float64),
        rates=np.array([rows[length] for length in lengths]),
    )
