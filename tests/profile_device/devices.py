"""Profiles of made-up devices whose truth is known."""

from __future__ import annotations

from itertools import product
from typing import Any

PEAK, BANDWIDTH, START = 1e11, 2e10, 3e-6  # FLOP/s, bytes/s, s


def true_seconds(m: float, n: float, k: float, size: int = 4) -> float:
    """What the made-up device takes for a product."""
    share = m / (m + 24) * n / (n + 8) * k / (k + 16)
    moved = size * (m * k + k * n + m * n)
    return START + 2 * m * n * k / (PEAK * share) + moved / (10 * BANDWIDTH)


def row(
    kernel: str, shape: dict[str, Any], seconds: float | None, **changes: Any
) -> dict[str, Any]:
    base: dict[str, Any] = {
        "kernel": kernel,
        "format": "fp32",
        "shape": shape,
        "mode": "steady",
        "median_s": seconds,
        "iqr_s": 0.0,
        "n": 9,
        "flops": 0.0,
        "bytes": 0.0,
        "energy_j": None,
        "flags": [],
    }
    return base | changes


def gemm_row(m: int, n: int, k: int, number_format: str = "fp32") -> dict[str, Any]:
    size = {"fp32": 4, "bf16": 2}[number_format]
    return row(
        "gemm",
        {"m": m, "n": n, "k": k},
        true_seconds(m, n, k, size),
        format=number_format,
        flops=2.0 * m * n * k,
        bytes=float(size * (m * k + k * n + m * n)),
    )


def moved_row(
    kernel: str, moved: float, number_format: str = "fp32", **shape: Any
) -> dict[str, Any]:
    return row(
        kernel,
        {"bytes": int(moved)} | shape,
        1e-6 + moved / BANDWIDTH,
        format=number_format,
        bytes=moved,
    )


SIZES = (64, 160, 512, 1024)


def profile(**changes: Any) -> dict[str, Any]:
    """A whole profile of the made-up device."""
    results = [
        gemm_row(*shape, f) for shape in product(SIZES, SIZES, SIZES) for f in ("fp32", "bf16")
    ]
    names = "copy add gelu_backward silu_backward layer_norm_backward rms_norm_backward"
    for name, number_format, size in product(
        [*names.split(), "cross_entropy_backward", "embedding_backward"],
        ("fp32", "bf16"),
        (1e6, 1e8),
    ):
        results.append(moved_row(name, size, number_format))
    results += [moved_row("adamw", 1e8, variant=each) for each in ("loop", "foreach", "fused")]
    results.append(row("launch", {"elements": 1}, 2e-6, flops=1.0, bytes=8.0))
    for length, number_format in product((128, 1024), ("fp32", "bf16")):
        flops = 1e9 * length / 128
        shape = {"batch": 1, "heads": 8, "length": length, "head_dim": 64, "causal": 1}
        for kernel in ("sdpa", "sdpa_backward"):
            results.append(
                row(kernel, shape, flops / 5e10, format=number_format, flops=flops, bytes=1.0)
            )
    base: dict[str, Any] = {
        "schema": "forerun-profile/1",
        "created": "2026-11-30T12:00:00+00:00",
        "complete": True,
        "environment": {"num_threads": 1},
        "device": {"name": "made up", "kind": "cpu", "sku_id": None, "memory_bytes": 2**34},
        "results": results,
        "warnings": [],
    }
    return base | changes


def collective_rows(
    ranks: int, *, nodes: int = 1, start: float = 1e-4, rate: float = 1e9, slow: float = 1.0
) -> list[dict[str, Any]]:
    """Collectives of `rate` bytes/s and `start` seconds a gather; scatters `slow` times slower."""
    rows = []
    share = (ranks - 1) / ranks
    for name, passes, pace in (
        ("all_reduce", 2, 1.0),
        ("all_gather", 1, 1.0),
        ("reduce_scatter", 1, slow),
    ):
        for size in (2**10, 2**16, 2**22, 2**28):
            moved = passes * size * share
            shape = {"bytes": size, "ranks": ranks, "nodes": nodes, "backend": "gloo"}
            seconds = passes * start + moved / rate * pace
            rows.append(row(name, shape, seconds, bytes=moved))
    return rows


def busy_rows(ranks: int, kernel: str, slower: float) -> list[dict[str, Any]]:
    """A kernel by one rank alone, and `slower` times that by all at once."""
    shape = {"ranks": ranks, "nodes": 1, "backend": "gloo"}
    return [
        row(kernel, shape | {"busy": busy}, seconds, bytes=1e6)
        for busy, seconds in ((1, 1e-3), (ranks, slower * 1e-3))
    ]
