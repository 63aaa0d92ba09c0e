"""Scaled-dot-product attention by sequence length and causality."""

from __future__ import annotations

from typing import Any

from profiles.device import Device
from profiles.formats import BYTES, EPSILON
from profiles.kernels.kernel import Kernel, Ready, random, relative, wide

BACKWARD = 2.5  # five products instead of two (Dao 2023, section 3)


def attention(
    batch: int,
    heads: int,
    length: int,
    head_dim: int,
    format: str,
    *,
    causal: bool = True,
    backward: bool = False,
) -> Kernel:
    """`torch.nn.functional.scaled_dot_product_attention` in the kernel that torch picks.

    FLOP count what the mask leaves, half when causal; with `backward`, forward and backward.
    """
    times = 1 + BACKWARD if backward else 1.0
    seen = (length + 1) / 2 if causal else length
    tensors = 8 if backward else 4
    size = batch * heads * length * head_dim * BYTES[format]
    return Kernel(
        name="sdpa_backward" if backward else "sdpa",
        format=format,
        shape={
            "batch": batch,
            "heads": heads,
            "length": length,
            "head_dim": head_dim,
            "causal": int(causal),
        },
        flops=4.0 * times * batch * heads * length * seen * head_dim,
        bytes=float(tensors * size),
        held=float(2 * tensors * size + batch * heads * length * length * 4),
        make=lambda device: _make(
            device, (batch, heads, length, head_dim), format, causal, backward
        ),
        tolerance=16 * max(EPSILON[format], EPSILON["fp64" if format == "fp64" else "fp32"] * 8),
    )


def _make(
    device: Device, sizes: tuple[int, int, int, int], format: str, causal: bool, backward: bool
) -> Ready:
    torch = device.torch
    q, k, v = (random(device, *sizes, format=format) for _ in range(3))
    attend = torch.nn.functional.scaled_dot_product_attention

    def forward() -> Any:
        return attend(q, k, v, is_causal=causal)

    def error() -> float:
        last = tuple(wide(each[-1:, -1:]) for each in (q, k, v))
        return relative(forward()[-1:, -1:], _plain(torch, last, causal))

    if not backward:
        return Ready(forward, error)
    for each in (q, k, v):
        each.requires_grad_()
    gradient = torch.randn_like(q)
    return Ready(lambda: torch.autograd.grad(forward(), (q, k, v), gradient), error)


def _plain(torch: Any, tensors: tuple[Any, ...], causal: bool) -> Any:
    q, k, v = tensors
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        length = scores.shape[-1]
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
    return scores.softmax(-1) @ v
