"""Latency and bandwidth of a link out of times by size, and what a collective puts on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """t(x) = latency + x / bandwidth."""

    latency_s: float
    bytes_per_second: float


def bus_bytes(operation: str, size: int, ranks: int) -> float:
    """Bytes that each rank's link carries for a buffer of `size` bytes (nccl-tests PERFORMANCE.md).

    >>> bus_bytes("all_reduce", 1024, 4), bus_bytes("all_gather", 1024, 4)
    (1536.0, 768.0)
    """
    share = (ranks - 1) / ranks
    factors = {"all_reduce": 2 * share, "send_recv": 1.0}
    return size * factors.get(operation, share)


def fit_link(points: Sequence[tuple[float, float]]) -> Link | None:
    """Fit (bytes, seconds) with weights that make relative errors count alike; None where the
    points do not show a bandwidth.

    >>> fit_link([(1e3, 2e-5 + 1e3 / 1e9), (1e6, 2e-5 + 1e6 / 1e9), (1e8, 2e-5 + 1e8 / 1e9)])
    Link(latency_s=2e-05, bytes_per_second=1000000000.0)
    """
    known = [(x, t) for x, t in points if x > 0 and t > 0]
    if len(known) < 3:
        return None
    sizes, times = (np.array(column) for column in zip(*known, strict=True))
    scale = float(sizes.max())
    design = np.stack([1 / times, sizes / scale / times], axis=1)
    (latency, slope), *_ = np.linalg.lstsq(design, np.ones(len(times)), rcond=None)
    if slope <= 0:
        return None
    return Link(
        latency_s=float(f"{max(latency, 0.0):.6g}"),
        bytes_per_second=float(f"{scale / slope:.6g}"),
    )
