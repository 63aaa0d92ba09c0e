"""Moving bytes: inside the device, to and from the host; launching; allocating."""

from __future__ import annotations

from typing import Any

from profiles.device import Device
from profiles.kernels.kernel import Kernel, Ready, random, relative, wide

_WORD = 4  # bytes of an FP32 element
_CHECKED = 64  # elements
_PAGE = 4096  # bytes, the smallest that systems map
DIRECTIONS = ("h2d", "d2h")


def copy(size: int, *, cold: bool = False) -> Kernel:
    """Copy `size` bytes inside the device: each is read and written once."""
    return Kernel(
        name="copy",
        format="fp32",
        shape={"bytes": size},
        flops=0.0,
        bytes=2.0 * size,
        held=2.0 * size,
        make=lambda device: _make_copy(device, size),
        mode="cold" if cold else "steady",
    )


def _make_copy(device: Device, size: int) -> Ready:
    source = random(device, size // _WORD, format="fp32")
    target = device.torch.empty_like(source)
    return Ready(lambda: target.copy_(source), lambda: _copied(device, target, source))


def _copied(device: Device, target: Any, source: Any) -> float:
    target.copy_(source)
    device.synchronise()
    return relative(target[-_CHECKED:], wide(source[-_CHECKED:]))


def transfer(size: int, direction: str, *, pinned: bool) -> Kernel:
    """Copy `size` bytes between host and device, from pinned or pageable host memory."""
    assert direction in DIRECTIONS
    return Kernel(
        name=direction,
        format="fp32",
        shape={"bytes": size, "memory": "pinned" if pinned else "pageable"},
        flops=0.0,
        bytes=float(size),
        held=float(size),
        make=lambda device: _make_transfer(device, size, direction, pinned),
    )


def _make_transfer(device: Device, size: int, direction: str, pinned: bool) -> Ready:
    torch = device.torch
    host = torch.randn(size // _WORD, pin_memory=pinned)
    there = random(device, size // _WORD, format="fp32")
    target, source = (there, host) if direction == "h2d" else (host, there)
    return Ready(
        lambda: target.copy_(source, non_blocking=pinned),
        lambda: _copied(device, target, source),
    )


def launch() -> Kernel:
    """The smallest operation: what is left is dispatch and launch."""
    return Kernel(
        name="launch",
        format="fp32",
        shape={"elements": 1},
        flops=1.0,
        bytes=8.0,
        held=8.0,
        make=_make_launch,
    )


def _make_launch(device: Device) -> Ready:
    one = device.torch.ones(1, device=device.label)
    return Ready(lambda: one.add_(1.0), lambda: None)


def allocate(size: int) -> Kernel:
    """Take `size` bytes that the allocator does not hold yet, and give them back.

    On a CPU each page is touched once, since the system maps it only then.
    """
    return Kernel(
        name="allocate",
        format="fp32",
        shape={"bytes": size},
        flops=0.0,
        bytes=float(size),
        held=float(size),
        make=lambda device: _make_allocate(device, size),
    )


def _make_allocate(device: Device, size: int) -> Ready:
    torch, touches = device.torch, device.kind == "cpu"

    def call() -> Any:
        block = torch.empty(size // _WORD, device=device.label)
        if touches:
            block[:: _PAGE // _WORD].fill_(0.0)
        del block
        device.release()

    return Ready(call, lambda: None)
