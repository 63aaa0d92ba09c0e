"""One whole transformer layer, forward and backward, eager or compiled."""

from __future__ import annotations

from typing import Any

from profiles.device import Device
from profiles.formats import BYTES, dtype_of
from profiles.kernels.kernel import Kernel, Ready, random
from profiles.transformer import Dimensions, layer_flops, make_layer


def layer(
    batch: int, length: int, dimensions: Dimensions, format: str, *, compiled: bool = False
) -> Kernel:
    """A pre-norm layer of these widths over (batch, length) tokens, weights in `format`."""
    tokens = batch * length
    weights = dimensions.layer_params
    saved = tokens * (12 * dimensions.hidden + 4 * dimensions.ffn_hidden)
    return Kernel(
        name="layer_compiled" if compiled else "layer",
        format=format,
        shape={
            "batch": batch,
            "length": length,
            "hidden": dimensions.hidden,
            "heads": dimensions.heads,
            "ffn_hidden": dimensions.ffn_hidden,
        },
        flops=3.0 * layer_flops(dimensions, batch, length),
        bytes=float((3 * weights + 2 * saved) * BYTES[format]),
        held=float((2 * weights + 2 * saved) * BYTES[format]),
        make=lambda device: _make(device, (batch, length), dimensions, format, compiled),
    )


def _make(
    device: Device, sizes: tuple[int, int], dimensions: Dimensions, format: str, compiled: bool
) -> Ready:
    torch = device.torch
    module: Any = make_layer(dimensions).to(device.label, dtype_of(torch, format))
    x = random(device, *sizes, dimensions.hidden, format=format).requires_grad_()
    gradient = torch.randn_like(x)
    if compiled:
        module = torch.compile(module)
    parameters = [x, *module.parameters()]
    return Ready(lambda: torch.autograd.grad(module(x), parameters, gradient), lambda: None)
