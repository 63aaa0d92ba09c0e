"""Convolutions, forward and with the backward pass, channels first or last."""

from __future__ import annotations

from typing import Any

from profiles.device import Device
from profiles.formats import BYTES, EPSILON
from profiles.kernels.kernel import Kernel, Ready, random, relative, wide

_CHECKED = 4  # output channels that are checked
LAYOUTS = ("nchw", "nhwc")


def convolution(
    batch: int,
    channels: int,
    side: int,
    out_channels: int,
    kernel: int,
    format: str,
    *,
    layout: str = "nchw",
    backward: bool = False,
) -> Kernel:
    """`kernel`×`kernel` with the padding that keeps the image's side."""
    assert layout in LAYOUTS
    positions = batch * side * side
    elements = positions * (channels + out_channels) + channels * out_channels * kernel**2
    times = 3 if backward else 1
    return Kernel(
        name="conv_backward" if backward else "conv",
        format=format,
        shape={
            "batch": batch,
            "channels": channels,
            "side": side,
            "out_channels": out_channels,
            "kernel": kernel,
            "layout": layout,
        },
        flops=2.0 * times * positions * channels * out_channels * kernel**2,
        bytes=float(times * elements * BYTES[format]),
        held=float(2 * times * elements * BYTES[format]),
        make=lambda device: _make(
            device, (batch, channels, side, out_channels, kernel), format, layout, backward
        ),
        tolerance=8 * max(EPSILON[format], 8 * EPSILON["fp64" if format == "fp64" else "fp32"]),
    )


def _make(
    device: Device, sizes: tuple[int, int, int, int, int], format: str, layout: str, backward: bool
) -> Ready:
    torch = device.torch
    batch, channels, side, out_channels, kernel = sizes
    memory = torch.channels_last if layout == "nhwc" else torch.contiguous_format
    x = random(device, batch, channels, side, side, format=format).to(memory_format=memory)
    w = random(device, out_channels, channels, kernel, kernel, format=format)
    w = w.to(memory_format=memory)
    conv = torch.nn.functional.conv2d

    def forward() -> Any:
        return conv(x, w, padding=kernel // 2)

    def error() -> float:
        wanted = conv(wide(x[:1]), wide(w[:_CHECKED]), padding=kernel // 2)
        return relative(forward()[:1, :_CHECKED], wanted)

    if not backward:
        return Ready(forward, error)
    x.requires_grad_()
    w.requires_grad_()
    gradient = torch.randn_like(forward())
    return Ready(lambda: torch.autograd.grad(forward(), (x, w), gradient), error)
