"""A stand-in for the pynvml module, driven by a description of a machine.

Written by hand from the NVML API reference and the behaviour that public issues report; none of it
is a recording of a real device.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

NOT_SUPPORTED, NO_PERMISSION, LOST = "NotSupported", "NoPermission", "GpuIsLost"


class NVMLError(Exception):
    """Base of the library's errors."""


class NVMLError_LibraryNotFound(NVMLError):  # noqa: N801, N818
    pass


class NVMLError_DriverNotLoaded(NVMLError):  # noqa: N801, N818
    pass


class NVMLError_Uninitialized(NVMLError):  # noqa: N801, N818
    pass


class NVMLError_NotFound(NVMLError):  # noqa: N801, N818
    pass


class NVMLError_NotSupported(NVMLError):  # noqa: N801, N818
    pass


class NVMLError_NoPermission(NVMLError):  # noqa: N801, N818
    pass


class NVMLError_GpuIsLost(NVMLError):  # noqa: N801, N818
    pass


_ERRORS = {
    NOT_SUPPORTED: NVMLError_NotSupported,
    NO_PERMISSION: NVMLError_NoPermission,
    LOST: NVMLError_GpuIsLost,
}


@dataclass
class Card:
    """One device as the driver would answer for it. A word in place of a number is its error."""

    name: str = "NVIDIA A100-SXM4-80GB"
    uuid: str = "GPU-a"
    bus: str = "00000000:07:00.0"
    milliwatts: Any = 120_000
    millijoules: Any = 5_000_000
    total: Any = 85_899_345_920
    celsius: Any = 41
    megahertz: Any = 1410
    limit_milliwatts: Any = 400_000
    reasons: Any = 0
    pids: list[int] = field(default_factory=list)
    instances: tuple[str, ...] = ()  # UUIDs of MIG instances


@dataclass
class Nvml:
    """The module: pass it where `pynvml` would go."""

    cards: list[Card] = field(default_factory=list)
    init_error: type[NVMLError] | None = None
    shutdown_error: type[NVMLError] | None = None
    NVMLError: type = NVMLError
    calls: list[str] = field(default_factory=list)

    def nvmlInit(self) -> None:
        if self.init_error:
            raise self.init_error("init")

    def nvmlShutdown(self) -> None:
        self.calls.append("nvmlShutdown")
        if self.shutdown_error:
            raise self.shutdown_error("shutdown")

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.65.06"

    def nvmlDeviceGetCount(self) -> int:
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Card:
        return self.cards[index]

    def nvmlDeviceGetHandleByUUID(self, uuid: str | bytes) -> Card:
        text = uuid.decode() if isinstance(uuid, bytes) else uuid
        for card in self.cards:
            if text == card.uuid or text in card.instances:
                return card
        raise NVMLError_NotFound(text)

    def nvmlDeviceGetUUID(self, card: Card) -> str:
        return card.uuid

    def nvmlDeviceGetName(self, card: Card) -> bytes:
        return card.name.encode()  # older bindings answer in bytes

    def nvmlDeviceGetPciInfo(self, card: Card) -> Any:
        return SimpleNamespace(busId=card.bus.encode())

    def nvmlDeviceGetPowerUsage(self, card: Card) -> int:
        return _answer(card.milliwatts)

    def nvmlDeviceGetTotalEnergyConsumption(self, card: Card) -> int:
        return _answer(card.millijoules)

    def nvmlDeviceGetEnforcedPowerLimit(self, card: Card) -> int:
        return _answer(card.limit_milliwatts)

    def nvmlDeviceGetTemperature(self, card: Card, sensor: int) -> int:
        return _answer(card.celsius)

    def nvmlDeviceGetClockInfo(self, card: Card, clock: int) -> int:
        return _answer(card.megahertz)

    def nvmlDeviceGetCurrentClocksEventReasons(self, card: Card) -> int:
        return _answer(card.reasons)

    def nvmlDeviceGetMemoryInfo(self, card: Card) -> Any:
        return SimpleNamespace(total=_answer(card.total), used=1 << 30)

    def nvmlDeviceGetComputeRunningProcesses(self, card: Card) -> list[Any]:
        return [SimpleNamespace(pid=pid) for pid in card.pids]


def _answer(value: Any) -> Any:
    if isinstance(value, str):
        raise _ERRORS[value](value)
    return value
