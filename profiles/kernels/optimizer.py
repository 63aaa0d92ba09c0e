"""The optimizer's step over parameters of given sizes."""

from __future__ import annotations

from typing import Any

from profiles.device import Device
from profiles.formats import BYTES
from profiles.kernels.kernel import Kernel, Ready, random

VARIANTS = ("foreach", "fused", "loop")
_RATE = 1e-3
_PASSES = 7  # parameter, gradient and both moments read; all but the gradient written


def adamw(tensors: int, elements: int, format: str, variant: str) -> Kernel:
    """AdamW over `tensors` parameters of `elements` each."""
    assert variant in VARIANTS
    total = tensors * elements
    return Kernel(
        name="adamw",
        format=format,
        shape={"tensors": tensors, "elements": elements, "variant": variant},
        flops=0.0,
        bytes=float(_PASSES * total * BYTES[format]),
        held=float(5 * total * BYTES[format]),
        make=lambda device: _make(device, tensors, elements, format, variant),
        tolerance=1e-2,
        family=f"adamw-{variant}",
    )


def _make(device: Device, tensors: int, elements: int, format: str, variant: str) -> Ready:
    torch = device.torch
    made = [random(device, elements, format=format) for _ in range(tensors)]
    parameters = [torch.nn.Parameter(each) for each in made]
    for each in parameters:
        each.grad = torch.randn_like(each)
    words: dict[str, Any] = {"foreach": variant == "foreach", "fused": variant == "fused"}
    optimizer = torch.optim.AdamW(parameters, lr=_RATE, weight_decay=0.0, **words)
    before = parameters[0].detach()[:64].clone()
    optimizer.step()
    moved = (before - parameters[0].detach()[:64]).double().abs()
    first = float(moved.median())

    def error() -> float | None:
        """The first step of Adam moves every parameter by the learning rate."""
        return abs(first / _RATE - 1) if format in ("fp32", "fp64") else None

    return Ready(optimizer.step, error)
