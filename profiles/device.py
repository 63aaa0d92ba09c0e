"""One device to measure on: its clock, its caches, its memory. CPU, CUDA (ROCm too) and MPS."""

from __future__ import annotations

import re
from time import perf_counter_ns, process_time_ns
from typing import Any

from profiles.backend import torch_module
from profiles.errors import ProfileError
from profiles.machine import cache_bytes, cpu_name, memory_available, memory_total
from profiles.timing import Call, Region

_NAME = re.compile(r"cpu|mps|cuda(:\d{1,3})?")
_CPU_CACHE = 32 * 2**20  # bytes flushed where the last-level cache is unknown


class Device:
    """A CPU: calls return when they are done, so the host clock is the device's."""

    kind = "cpu"
    asynchronous = False

    def __init__(self, name: str) -> None:
        self.torch = torch_module()
        self.label = name  # as torch spells it: cpu, cuda:0
        self.clock = "wall"  # or cpu: processor time of this process, for a machine others share
        self._flushed: Any = None

    @property
    def name(self) -> str:
        """The maker's name."""
        return cpu_name()

    @property
    def memory_bytes(self) -> int | None:
        """Total memory, bytes."""
        return memory_total()

    @property
    def free_bytes(self) -> int | None:
        """Memory that a new tensor may take, bytes."""
        return memory_available()

    @property
    def capability(self) -> tuple[int, int] | None:
        """Compute capability, NVIDIA only."""
        return None

    @property
    def cache_bytes(self) -> int:
        """Last-level cache, bytes."""
        return cache_bytes() or _CPU_CACHE

    def synchronise(self) -> None:
        """Wait until all launched work is done."""

    def region(self, call: Call, repeats: int) -> Region:
        now = process_time_ns if self.clock == "cpu" else perf_counter_ns
        self.synchronise()
        start = now()
        for _ in range(repeats):
            call()
        issued = now()
        self.synchronise()
        end = now()
        return Region(seconds=(end - start) / 1e9, host_seconds=(issued - start) / 1e9)

    def flush(self) -> None:
        """Write twice the last-level cache."""
        if self._flushed is None:
            self._flushed = self.torch.empty(
                2 * self.cache_bytes // 4, dtype=self.torch.float32, device=self.label
            )
        self._flushed.add_(1.0)
        self.synchronise()

    def release(self) -> None:
        """Give cached memory back."""

    def describe(self) -> dict[str, Any]:
        """What a profile says about the device."""
        return {
            "kind": self.kind,
            "label": self.label,
            "name": self.name,
            "memory_bytes": self.memory_bytes,
            "cache_bytes": self.cache_bytes,
        }


class CudaDevice(Device):
    """An NVIDIA or AMD device: events on its own stream are the clock."""

    kind = "cuda"
    asynchronous = True

    def __init__(self, name: str) -> None:
        super().__init__(name if ":" in name else f"{name}:0")
        self.index = int(self.label.split(":")[1])
        if not self.torch.cuda.is_available():
            raise ProfileError("--device", name, f"torch {self.torch.__version__} finds no GPU")
        count = self.torch.cuda.device_count()
        if self.index >= count:
            known = ", ".join(f"cuda:{i}" for i in range(count))
            raise ProfileError("--device", name, f"this machine has {known}")
        self.torch.cuda.set_device(self.index)
        self._properties = self.torch.cuda.get_device_properties(self.index)

    @property
    def name(self) -> str:
        return str(self.torch.cuda.get_device_name(self.index))

    @property
    def memory_bytes(self) -> int | None:
        return int(self._properties.total_memory)

    @property
    def free_bytes(self) -> int | None:
        return int(self.torch.cuda.mem_get_info(self.index)[0])

    @property
    def capability(self) -> tuple[int, int] | None:
        if self.torch.version.hip:
            return None
        major, minor = self.torch.cuda.get_device_capability(self.index)
        return int(major), int(minor)

    @property
    def cache_bytes(self) -> int:
        return int(getattr(self._properties, "L2_cache_size", 0)) or 64 * 2**20

    @property
    def uuid(self) -> str | None:
        """As NVML spells it, None where torch does not say (before 2.6, ROCm)."""
        found = getattr(self._properties, "uuid", None)
        if found is None or self.torch.version.hip:
            return None
        text = str(found)
        return text if text.startswith(("GPU-", "MIG-")) else f"GPU-{text}"

    @property
    def pci_bus_id(self) -> str | None:
        """Domain:bus:device of the PCI slot, None where torch does not say."""
        parts = [getattr(self._properties, f"pci_{each}_id", None) for each in _PCI]
        if any(each is None for each in parts):
            return None
        domain, bus, device = (int(each or 0) for each in parts)
        return f"{domain:08x}:{bus:02x}:{device:02x}.0"

    def synchronise(self) -> None:
        self.torch.cuda.synchronize(self.index)

    def region(self, call: Call, repeats: int) -> Region:
        """Events around the region; the host's own time is what an unsynchronised clock shows."""
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.synchronise()
        began = perf_counter_ns()
        start.record()
        for _ in range(repeats):
            call()
        end.record()
        issued = perf_counter_ns()
        end.synchronize()
        seconds = float(start.elapsed_time(end)) / 1e3
        return Region(seconds=seconds, host_seconds=(issued - began) / 1e9)

    def release(self) -> None:
        self.torch.cuda.empty_cache()

    def describe(self) -> dict[str, Any]:
        capability = self.capability
        return super().describe() | {
            "capability": list(capability) if capability else None,
            "gfx_target": getattr(self._properties, "gcnArchName", None),
            "multiprocessors": int(self._properties.multi_processor_count),
            "uuid": self.uuid,
            "pci_bus_id": self.pci_bus_id,
            "count": int(self.torch.cuda.device_count()),
        }


_PCI = ("domain", "bus", "device")


class MpsDevice(Device):
    """Apple's GPU through torch: no events with times, so both ends are synchronised."""

    kind = "mps"
    asynchronous = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        if not self.torch.backends.mps.is_available():
            raise ProfileError("--device", name, "this torch finds no Apple GPU")

    @property
    def name(self) -> str:
        return f"{cpu_name()} GPU"

    def synchronise(self) -> None:
        self.torch.mps.synchronize()

    def release(self) -> None:
        self.torch.mps.empty_cache()


def open_device(name: str | None = None) -> Device:
    """The device that torch calls `name`; None is the first CUDA device where there is one.

    Raises ProfileError for a name that torch does not know or a device that is not there.
    """
    torch = torch_module()
    if name is None:
        name = "cuda:0" if torch.cuda.is_available() else "cpu"
    if not _NAME.fullmatch(name):
        raise ProfileError("--device", name, "write cpu, mps, or cuda:0 (AMD GPUs are cuda too)")
    kinds: dict[str, type[Device]] = {"cpu": Device, "mps": MpsDevice, "cuda": CudaDevice}
    return kinds[name.split(":")[0]](name)
