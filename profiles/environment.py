"""Under which software and settings a profile was measured. No host name, no path, no user."""

from __future__ import annotations

import os
import platform
from typing import Any

from profiles.device import Device
from profiles.machine import cpu_name, telling_flags, topology

_VARIABLES = (
    "CUDA_DEVICE_ORDER",
    "CUDA_VISIBLE_DEVICES",
    "KMP_AFFINITY",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
)
SAME = (
    "torch",
    "num_threads",
    "clock",
    "cuda",
    "hip",
    "driver",
)  # what a resumed profile must share


def environment(device: Device, driver: str | None = None) -> dict[str, Any]:
    """The record that a profile carries; unknown is None."""
    torch = device.torch
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "wsl": "microsoft" in platform.release().lower(),
        "machine": platform.machine(),
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "cudnn": torch.backends.cudnn.version() if torch.cuda.is_available() else None,
        "driver": driver,
        "num_threads": int(torch.get_num_threads()),
        "clock": device.clock,
        "cpu": {
            "name": cpu_name(),
            "flags": telling_flags(),
            "capability": torch.backends.cpu.get_cpu_capability(),
            **topology(),
        },
        "variables": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
    }


def sku_of(device: Device) -> tuple[str | None, str]:
    """The accelerator's id in hardware_db, or None with the reason."""
    from hardware_db import HardwareError, resolve

    try:
        match = resolve(device.name, memory_bytes=device.memory_bytes)
    except HardwareError as error:
        return None, f"{device.name}: {error.remedy}"
    return match.sku_id, match.note
