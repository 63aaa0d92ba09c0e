"""Matrix products as linear layers do them: forward, by input, by weight; batched; 8-bit."""

from __future__ import annotations

import math
from typing import Any

from profiles.device import Device
from profiles.formats import BYTES, EPSILON
from profiles.kernels.kernel import Kernel, Ready, random, relative, wide

_SAMPLED = 16  # rows and columns of the result that are checked
PASSES = ("forward", "input", "weight")


def gemm(
    m: int, n: int, k: int, format: str, transposed: str = "forward", *, cold: bool = False
) -> Kernel:
    """(m, k) by (k, n), with the operands laid out as in one pass of a linear layer.

    forward: x·Wᵀ with W stored (n, k); input: g·W with W stored (k, n); weight: gᵀ·x with both
    stored rows first.
    """
    assert transposed in PASSES
    size = BYTES[format]
    out = 4 if format == "int8" else 2 if format == "fp8" else size
    moved = size * (m * k + k * n) + out * m * n
    shape: dict[str, int | str] = {"m": m, "n": n, "k": k}
    if transposed != "forward":
        shape["pass"] = transposed
    return Kernel(
        name="gemm",
        format=format,
        shape=shape,
        flops=2.0 * m * n * k,
        bytes=float(moved),
        held=float(moved),
        make=lambda device: _make(device, m, n, k, format, transposed),
        tolerance=_tolerance(format, k),
        mode="cold" if cold else "steady",
    )


def bmm(batch: int, m: int, n: int, k: int, format: str) -> Kernel:
    """`batch` products of (m, k) by (k, n) in one call."""
    size = BYTES[format] * batch * (m * k + k * n + m * n)
    return Kernel(
        name="bmm",
        format=format,
        shape={"batch": batch, "m": m, "n": n, "k": k},
        flops=2.0 * batch * m * n * k,
        bytes=float(size),
        held=float(size),
        make=lambda device: _make_batched(device, batch, m, n, k, format),
        tolerance=_tolerance(format, k),
    )


def _tolerance(format: str, k: int) -> float:
    accumulated = EPSILON["fp64" if format == "fp64" else "fp32"] * math.sqrt(k)
    rounded = EPSILON["bf16"] if format == "fp8" else EPSILON[format]
    return 0.0 if format == "int8" else 8 * max(rounded, accumulated)


def _make(device: Device, m: int, n: int, k: int, format: str, transposed: str) -> Ready:
    a, b = _operands(device, m, n, k, format, transposed)
    multiply = _multiplier(device, format)
    return Ready(lambda: multiply(a, b), lambda: _error(multiply(a, b), a, b))


def _operands(
    device: Device, m: int, n: int, k: int, format: str, transposed: str
) -> tuple[Any, Any]:
    if transposed == "forward":
        return random(device, m, k, format=format), random(device, n, k, format=format).t()
    if transposed == "input":
        return random(device, m, k, format=format), random(device, k, n, format=format)
    return random(device, k, m, format=format).t(), random(device, k, n, format=format)


def _multiplier(device: Device, format: str) -> Any:
    torch = device.torch
    if format == "int8":
        return torch._int_mm
    if format == "fp8":
        one = torch.ones((), device=device.label)
        return lambda a, b: torch._scaled_mm(
            a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16
        )
    return torch.mm


def _make_batched(device: Device, batch: int, m: int, n: int, k: int, format: str) -> Ready:
    a, b = random(device, batch, m, k, format=format), random(device, batch, k, n, format=format)
    multiply = device.torch.bmm
    return Ready(lambda: multiply(a, b), lambda: _error(multiply(a, b)[-1], a[-1], b[-1]))


def _error(found: Any, a: Any, b: Any) -> float:
    """Of a corner of the result that reaches into its last row and column."""
    wanted = wide(a[-_SAMPLED:]) @ wide(b[:, -_SAMPLED:])
    return relative(found[-_SAMPLED:, -_SAMPLED:], wanted)
