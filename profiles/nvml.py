"""NVIDIA's management library behind a gauge: units converted once, absent stays None.

The library is passed in as a module, so that a recorded device can stand in for it in tests.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from profiles.gauge import Gauge, State

T = TypeVar("T")

NEEDED = (
    "nvmlInit",
    "nvmlShutdown",
    "nvmlDeviceGetCount",
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetHandleByUUID",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetPciInfo",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetTotalEnergyConsumption",
)
OLD_LIBRARY = (
    "the installed pynvml lacks {missing}: pip uninstall pynvml && pip install nvidia-ml-py"
)

THROTTLE = {  # bits of the clock-event reasons (NVML API reference, nvmlClocksEventReasons)
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x10: "synchronised boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}


class NvmlGauge(Gauge):
    """One NVIDIA device."""

    present = True

    def __init__(self, library: Any, handle: Any, *, mig: bool, notes: tuple[str, ...]) -> None:
        super().__init__("")
        self._library = library
        self._handle = handle
        self._mig = mig
        self._notes = list(notes)
        if mig:
            self._notes.append("a MIG instance: power and energy are of the whole board, not read")

    @property
    def name(self) -> str | None:
        return _text(self._ask("nvmlDeviceGetName"))

    @property
    def driver(self) -> str | None:
        return _text(self._call(lambda: self._library.nvmlSystemGetDriverVersion()))

    @property
    def uuid(self) -> str | None:
        return _text(self._ask("nvmlDeviceGetUUID"))

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._notes))

    def state(self) -> State:
        library = self._library
        reasons = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if reasons is None:
            reasons = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        return State(
            power_watts=self.power_watts(),
            temperature_celsius=_float(self._ask("nvmlDeviceGetTemperature", 0)),
            core_hertz=_scaled(self._ask("nvmlDeviceGetClockInfo", _code(library, "SM", 1)), 1e6),
            memory_hertz=_scaled(
                self._ask("nvmlDeviceGetClockInfo", _code(library, "MEM", 2)), 1e6
            ),
            power_limit_watts=self._of_board("nvmlDeviceGetEnforcedPowerLimit", 1e-3),
            throttle=None if reasons is None else _reasons(int(reasons)),
            other_processes=self._others(),
            used_bytes=_field(self._ask("nvmlDeviceGetMemoryInfo"), "used"),
        )

    def power_watts(self) -> float | None:
        return self._of_board("nvmlDeviceGetPowerUsage", 1e-3) or None  # 0 mW is "not supported"

    def energy_joules(self) -> float | None:
        return self._of_board("nvmlDeviceGetTotalEnergyConsumption", 1e-3) or None

    def memory_bytes(self) -> int | None:
        """None on parts that share the host's memory (Grace, Jetson, GB10)."""
        total = _field(self._ask("nvmlDeviceGetMemoryInfo"), "total")
        return total or None

    def close(self) -> None:
        self._call(lambda: self._library.nvmlShutdown())

    def _of_board(self, name: str, scale: float) -> float | None:
        return None if self._mig else _scaled(self._ask(name), scale)

    def _others(self) -> int | None:
        found = self._ask("nvmlDeviceGetComputeRunningProcesses")
        if found is None:
            return None
        return sum(1 for each in found if getattr(each, "pid", None) != os.getpid())

    def _ask(self, name: str, *more: object) -> Any:
        call = getattr(self._library, name, None)
        return None if call is None else self._call(lambda: call(self._handle, *more), name)

    def _call(self, ask: Callable[[], T], name: str = "") -> T | None:
        """The answer, or None where the driver refuses; a lost device is noted."""
        try:
            return ask()
        except self._library.NVMLError as error:
            kind = type(error).__name__
            if "GpuIsLost" in kind or "GpuLost" in kind:
                self._notes.append("the device was lost while it was watched")
            elif "NoPermission" in kind:
                self._notes.append(f"no permission to read {_said(name)}")
            return None


def open_gauge(*, uuid: str | None, pci_bus_id: str | None, library: Any = None) -> Gauge:
    """The gauge of the device that torch knows under this UUID or PCI bus id, never by its index:
    CUDA lists the fastest device first, NVML the first on the bus.

    A missing library, driver or device gives the null gauge, whose `reason` says what is missing.
    """
    found = _library(library)
    if isinstance(found, str):
        return Gauge(found)
    try:
        found.nvmlInit()
    except found.NVMLError as error:
        return Gauge(f"no NVIDIA driver answers ({_short(error)})")
    try:
        return _matched(found, uuid, pci_bus_id)
    except found.NVMLError as error:
        _leave(found)
        return Gauge(f"NVML does not know the device ({_short(error)})")


def _library(library: Any) -> Any:
    """The module, or the reason why there is none."""
    if library is None:
        try:
            library = import_module("pynvml")
        except ImportError:
            return "nvidia-ml-py is not installed: pip install nvidia-ml-py"
        except Exception as error:  # an old pynvml may fail in any way while it loads
            return f"pynvml does not load ({_short(error)}): pip install -U nvidia-ml-py"
    missing = [name for name in (*NEEDED, "NVMLError") if not hasattr(library, name)]
    return OLD_LIBRARY.format(missing=missing[0]) if missing else library


def _matched(library: Any, uuid: str | None, pci_bus_id: str | None) -> Gauge:
    count = int(library.nvmlDeviceGetCount())
    if count == 0:
        _leave(library)
        return Gauge("no GPU found: the driver lists no device")
    handle = _handle(library, count, uuid, pci_bus_id)
    if handle is None:
        _leave(library)
        return Gauge(_unmatched(uuid, pci_bus_id, count))
    mig = bool(uuid and uuid.startswith("MIG-"))
    return NvmlGauge(library, handle, mig=mig, notes=_order_notes(library, count))


def _unmatched(uuid: str | None, pci_bus_id: str | None, count: int) -> str:
    if uuid is None and pci_bus_id is None:
        return f"torch says neither UUID nor PCI bus of its device, NVML lists several: {count}"
    return f"NVML lists {count} devices, none with the UUID or PCI bus that torch says"


def _handle(library: Any, count: int, uuid: str | None, pci_bus_id: str | None) -> Any:
    if uuid is not None:
        for written in (uuid, uuid.encode()):
            try:
                return library.nvmlDeviceGetHandleByUUID(written)
            except (TypeError, library.NVMLError):
                continue
    handles = [library.nvmlDeviceGetHandleByIndex(i) for i in range(count)]
    if pci_bus_id is not None:
        for handle in handles:
            if _bus(library.nvmlDeviceGetPciInfo(handle)) == _short_bus(pci_bus_id):
                return handle
        return None
    return handles[0] if count == 1 and uuid is None else None


def _order_notes(library: Any, count: int) -> tuple[str, ...]:
    """A warning where unlike devices are numbered differently by CUDA and by NVML."""
    if count < 2 or os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID":
        return ()
    names = set()
    for i in range(count):
        try:
            names.add(_text(library.nvmlDeviceGetName(library.nvmlDeviceGetHandleByIndex(i))))
        except library.NVMLError:
            continue
    if len(names) < 2:
        return ()
    return (
        "unlike GPUs and CUDA_DEVICE_ORDER is not PCI_BUS_ID: cuda:0 need not be nvidia-smi's 0; "
        "the device was matched by its UUID or PCI bus",
    )


def _bus(info: Any) -> str:
    return _short_bus(_text(getattr(info, "busId", "")) or "")


def _short_bus(text: str) -> str:
    """Domains are written with 4 digits or with 8."""
    domain, _, rest = text.lower().partition(":")
    return f"{domain[-4:].zfill(4)}:{rest}"


def _leave(library: Any) -> None:
    try:
        library.nvmlShutdown()
    except library.NVMLError:
        return  # it was never entered


def _reasons(bits: int) -> tuple[str, ...]:
    return tuple(text for bit, text in THROTTLE.items() if bits & bit)


def _code(library: Any, clock: str, otherwise: int) -> int:
    return int(getattr(library, f"NVML_CLOCK_{clock}", otherwise))


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def _scaled(value: Any, factor: float) -> float | None:
    return None if value is None else float(value) * factor


def _field(value: Any, name: str) -> int | None:
    found = None if value is None else getattr(value, name, None)
    return None if found is None else int(found)


def _said(name: str) -> str:
    return name.removeprefix("nvmlDeviceGet") or name


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip().rstrip(":")[:120]
