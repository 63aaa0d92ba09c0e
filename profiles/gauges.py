"""The gauge that suits a device: NVML's, the processor's energy counters, or none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from profiles.device import CudaDevice, Device
from profiles.gauge import Gauge
from profiles.machine import rapl_packages
from profiles.nvml import open_gauge


class RaplGauge(Gauge):
    """Energy of the processor packages (Intel RAPL, also on AMD)."""

    present = True

    def __init__(self, packages: Sequence[Path]) -> None:
        super().__init__("")
        self._packages = list(packages)
        self._last: list[int] | None = None
        self._turns = [0] * len(self._packages)  # how often each counter has begun anew

    @property
    def notes(self) -> tuple[str, ...]:
        return ("energy of the whole processor packages, by RAPL",)

    def energy_joules(self) -> float | None:
        """Joules of all packages, J; None when a counter cannot be read any more."""
        try:
            now = [int((each / "energy_uj").read_text()) for each in self._packages]
            tops = [int((each / "max_energy_range_uj").read_text()) for each in self._packages]
        except (OSError, ValueError):
            return None
        if self._last is not None:
            for i, (before, after) in enumerate(zip(self._last, now, strict=True)):
                self._turns[i] += after < before
        self._last = now
        whole = zip(now, tops, self._turns, strict=True)
        return sum(value + top * turns for value, top, turns in whole) / 1e6


def gauge_of(device: Device, library: Any = None) -> Gauge:
    """The gauge of `device`; never fails, a null gauge says what is missing."""
    if isinstance(device, CudaDevice):
        if device.torch.version.hip:
            return Gauge("AMD GPU: power and energy are not read")
        return open_gauge(uuid=device.uuid, pci_bus_id=device.pci_bus_id, library=library)
    if device.kind == "mps":
        return Gauge("Apple GPU: power and energy are not read")
    packages = list(rapl_packages())
    return RaplGauge(packages) if packages else Gauge("no readable energy counter on this CPU")
