"""Which number formats an accelerator computes in hardware."""

from __future__ import annotations

from functools import cache
from typing import Literal

from hardware_db._tables import rows

FORMATS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")

Support = Literal["native", "emulated", "unsupported"]

# First NVIDIA compute capability with the format in hardware (CUDA C++ programming guide,
# "arithmetic instructions" and "compute capabilities"). Below it PyTorch still accepts bf16
# tensors and computes them through FP32: `is_bf16_supported()` says True on a T4.
_NVIDIA_FROM = {
    "fp64": (1, 3),
    "fp32": (1, 0),
    "fp16": (5, 3),
    "int8": (6, 1),
    "bf16": (8, 0),
    "tf32": (8, 0),
    "fp8": (8, 9),
    "fp4": (10, 0),
}


def nvidia_support(capability: tuple[int, int], format: str) -> Support:
    """How an NVIDIA device of this compute capability computes in `format`.

    >>> nvidia_support((7, 5), "bf16"), nvidia_support((8, 6), "fp8"), nvidia_support((8, 9), "fp8")
    ('emulated', 'unsupported', 'native')
    """
    if capability >= _NVIDIA_FROM[format]:
        return "native"
    return "emulated" if format == "bf16" else "unsupported"


def architecture_support(architecture: str, format: str) -> Support:
    """How a device of another vendor's architecture computes in `format`."""
    return _by_architecture()[architecture][format]


@cache
def _by_architecture() -> dict[str, dict[str, Support]]:
    def word(cell: str) -> Support:
        assert cell in ("native", "emulated", "unsupported"), cell
        return cell  # type: ignore[return-value]

    return {row["architecture"]: {f: word(row[f]) for f in FORMATS} for row in rows("formats")}
