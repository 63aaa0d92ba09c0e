"""What would be measured, without measuring: the devices, their formats, the software."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from profiles.backend import torch_module
from profiles.device import Device, open_device
from profiles.environment import environment, sku_of
from profiles.formats import FORMATS, support
from profiles.gauges import gauge_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """One device as a profile of it would name it."""

    label: str  # as torch spells it: cpu, cuda:0
    kind: str  # cpu | cuda | mps
    name: str
    sku_id: str | None  # in the accelerator table
    memory_bytes: int | None
    num_threads: int  # of the host, unless the user says otherwise
    formats: dict[str, str]  # native | emulated | unsupported | unknown, by format
    environment: dict[str, Any]


def described(label: str | None = None) -> tuple[Description, ...]:
    """The device that torch calls `label`, or all, the one that a profile takes first in front.

    Raises ProfileError without torch, or for a device that is not there.
    """
    wanted = [label] if label is not None else labels()
    return tuple(_described(open_device(each)) for each in wanted)


def labels() -> list[str]:
    """The devices that torch finds: GPUs, then the CPU."""
    torch = torch_module()
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return [*(f"cuda:{i}" for i in range(count)), "cpu", *mps]


def _described(device: Device) -> Description:
    gauge = gauge_of(device)
    try:
        memory = gauge.memory_bytes() or device.memory_bytes
        software = environment(device, gauge.driver)
    finally:
        gauge.close()
    return Description(
        label=device.label,
        kind=device.kind,
        name=device.name,
        sku_id=sku_of(device)[0],
        memory_bytes=memory,
        num_threads=int(software["num_threads"]),
        formats={each: support(device, each) for each in FORMATS},
        environment=software,
    )


def description_lines(devices: Sequence[Description]) -> list[str]:
    """The devices for a person."""
    from profiles.report import binary, table

    ways = ("native", "emulated", "unsupported")
    rows: list[list[str | None]] = [
        [
            each.label,
            each.name,
            None if each.memory_bytes is None else binary(each.memory_bytes),
            *(", ".join(f for f in FORMATS if each.formats[f] == way) or None for way in ways),
        ]
        for each in devices
    ]
    software = devices[0].environment
    return [
        *table(["device", "name", "memory", *ways], rows),
        f"torch {software['torch']}, {devices[0].num_threads} host threads",
    ]
