"""Number formats on a device: torch's type, how the hardware computes in it, its switches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from profiles.device import Device
from profiles.errors import ProfileError
from profiles.machine import supports_natively

FORMATS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8")
BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1}
EPSILON = {  # distance from 1 to the next number
    "fp64": 2.0**-52,
    "fp32": 2.0**-23,
    "tf32": 2.0**-10,
    "fp16": 2.0**-10,
    "bf16": 2.0**-7,
    "fp8": 2.0**-3,
    "int8": 0.0,
}

Support = Literal["native", "emulated", "unsupported", "unknown"]


def dtype_of(torch: Any, number_format: str) -> Any:
    """Torch's element type."""
    names = {
        "fp64": "float64",
        "fp32": "float32",
        "tf32": "float32",
        "fp16": "float16",
        "bf16": "bfloat16",
        "fp8": "float8_e4m3fn",
        "int8": "int8",
    }
    found = getattr(torch, names[number_format], None)
    if found is None:
        raise ProfileError("format", number_format, f"torch {torch.__version__} has no such type")
    return found


def support(device: Device, number_format: str) -> Support:
    """How the device computes in a format, by what its hardware documents.

    A CPU without the format's instructions emulates it (a finding worth a measurement); TF32 is a
    mode of NVIDIA's matrix units; MPS has no FP64.
    """
    if device.kind == "cpu":
        return _on_cpu(number_format)
    if device.kind == "mps":
        return "unsupported" if number_format in ("fp64", "tf32", "fp8", "int8") else "native"
    from hardware_db import HardwareError, accelerator

    if device.capability is not None:
        from hardware_db._formats import nvidia_support

        return nvidia_support(device.capability, number_format)
    try:
        return accelerator(device.name, memory_bytes=device.memory_bytes).supports(number_format)
    except HardwareError:
        return "unknown"


def _on_cpu(number_format: str) -> Support:
    if number_format == "tf32":
        return "unsupported"
    if number_format == "fp8":
        return "emulated"
    native = supports_natively(number_format)
    if native is None:
        return "unknown"
    return "native" if native else "emulated"


@contextmanager
def switched_on(device: Device, number_format: str) -> Iterator[None]:
    """FP32 products in TF32 when that is the format, in full FP32 otherwise."""
    precision = "tf32" if number_format == "tf32" else "ieee"
    settings = _settings(device.torch)
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in settings]
    try:
        for owner, name, words in settings:
            setattr(owner, name, words[precision])
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def _settings(torch: Any) -> list[tuple[Any, str, dict[str, Any]]]:
    """Torch's switches of the FP32 mode; those before 2.9 and after exclude each other."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    if hasattr(matmul, "fp32_precision") and hasattr(cudnn, "conv"):
        words: dict[str, Any] = {"tf32": "tf32", "ieee": "ieee"}
        return [(matmul, "fp32_precision", words), (cudnn.conv, "fp32_precision", words)]
    flags: dict[str, Any] = {"tf32": True, "ieee": False}
    return [(matmul, "allow_tf32", flags), (cudnn, "allow_tf32", flags)]
