"""One thing to time: its name, format, shape, work, and how to make it ready on a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from profiles.device import Device
from profiles.timing import Call, Mode

Size = int | str  # a dimension, or a word such as a layout


@dataclass(frozen=True, slots=True)
class Ready:
    """A kernel with its tensors in place."""

    call: Call
    error: Callable[
        [], float | None
    ]  # worst sampled error against FP64, relative; None = not exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel that has not been allocated yet."""

    name: str
    format: str  # profiles.formats.FORMATS
    shape: Mapping[str, Size]
    flops: float  # arithmetic of one call, 0 where it only moves data
    bytes: float  # bytes that one call must move
    held: float  # bytes that its tensors take
    make: Callable[[Device], Ready]
    tolerance: float = 0.0  # largest acceptable relative error
    mode: Mode = "steady"
    family: str = ""  # kernels whose speed is alike, for estimates; empty = the name
    weighed: bool = False  # its energy is measured too, where the device says it

    @property
    def key(self) -> str:
        """One line that tells kernels apart."""
        return kernel_key(self.name, self.format, self.mode, self.shape)

    @property
    def pace(self) -> str:
        """Whose measured rate predicts this kernel's time."""
        return f"{self.family or self.name}/{self.format}"


def kernel_key(name: str, number_format: str, mode: str, shape: Mapping[str, Size]) -> str:
    """The key of a kernel, from what a profile stores.

    >>> kernel_key("gemm", "bf16", "steady", {"m": 64, "n": 32, "k": 16})
    'gemm/bf16/steady/k=16,m=64,n=32'
    """
    sizes = ",".join(f"{name}={shape[name]}" for name in sorted(shape))
    return f"{name}/{number_format}/{mode}/{sizes}"


def random(device: Device, *sizes: int, format: str, scale: float = 1.0) -> Any:
    """A random tensor in a format: normal, or uniform integers for int8."""
    from profiles.formats import dtype_of

    torch = device.torch
    dtype = dtype_of(torch, format)
    if format == "int8":
        return torch.randint(-100, 101, sizes, dtype=dtype, device=device.label)
    drawn = torch.float64 if format == "fp64" else torch.float32
    return (torch.randn(sizes, dtype=drawn, device=device.label) * scale).to(dtype)


def wide(tensor: Any) -> Any:
    """The same values in FP64 on the CPU."""
    return tensor.detach().to("cpu").double() if tensor.dtype.itemsize > 1 else _wide8(tensor)


def _wide8(tensor: Any) -> Any:
    return tensor.detach().to("cpu").float().double()


def relative(found: Any, wanted: Any) -> float:
    """Largest difference over the largest wanted value."""
    scale = float(wanted.abs().max())
    return float((wide(found) - wanted).abs().max()) / (scale or 1.0)
