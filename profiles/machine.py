"""What the operating system says about the host: processor, caches, memory, load, energy."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PROC, _SYS = Path("/proc"), Path("/sys")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}

# processor flags that decide which formats run on hardware, x86 and Arm
FORMAT_FLAGS = {
    "bf16": ("avx512_bf16", "amx_bf16", "bf16", "avx_ne_convert"),
    "fp16": ("avx512_fp16", "amx_fp16", "asimdhp", "fphp"),
    "int8": ("avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm"),
}
_ORDINARY = ("avx2", "fma", "avx512f", "sve", "hypervisor")


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _cpuinfo(*names: str) -> str | None:
    for line in _read(_PROC / "cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in names and value.strip():
            return value.strip()
    return None


@cache
def cpu_name() -> str:
    """The processor's name as the system states it."""
    return _cpuinfo("model name", "Model", "cpu model") or platform.processor() or "unknown CPU"


@cache
def cpu_flags() -> frozenset[str]:
    """Instruction-set flags."""
    return frozenset((_cpuinfo("flags", "Features") or "").split())


def supports_natively(number_format: str) -> bool | None:
    """Whether the processor has instructions for a format, None where the system says no flags."""
    if number_format not in FORMAT_FLAGS:
        return number_format in ("fp32", "fp64")
    return bool(cpu_flags() & set(FORMAT_FLAGS[number_format])) if cpu_flags() else None


def telling_flags() -> list[str]:
    """The flags that matter to arithmetic, for a profile's environment."""
    wanted = {*_ORDINARY, *(flag for flags in FORMAT_FLAGS.values() for flag in flags)}
    return sorted(cpu_flags() & wanted)


@cache
def cache_bytes() -> int | None:
    """The largest cache of the first core, bytes; None where the system does not say."""
    sizes = [
        _size(_read(index / "size")) for index in _SYS.glob("devices/system/cpu/cpu0/cache/index*")
    ]
    return max((each for each in sizes if each), default=None)


def _size(text: str) -> int | None:
    text = text.strip()
    if not text or not text[:-1].isdigit():
        return int(text) if text.isdigit() else None
    return int(text[:-1]) * _UNITS.get(text[-1], 1)


def topology() -> dict[str, int | None]:
    """Sockets, cores that this process may use, logical processors of the machine."""
    packages = {
        _read(each / "topology/physical_package_id").strip()
        for each in _SYS.glob("devices/system/cpu/cpu[0-9]*")
    } - {""}
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return {"sockets": len(packages) or None, "usable": usable, "logical": os.cpu_count()}


def _meminfo(name: str) -> int | None:
    for line in _read(_PROC / "meminfo").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return None


def memory_total() -> int | None:
    """Memory of the host or of this container, whichever is less, bytes."""
    limits = [each for each in (_meminfo("MemTotal"), _container_limit()) if each]
    return min(limits, default=None)


def memory_available() -> int | None:
    """Memory that can be allocated without swapping, bytes."""
    free = _meminfo("MemAvailable")
    limit, used = _container_limit(), _number(_SYS / "fs/cgroup/memory.current")
    if limit and used is not None:
        left = max(0, limit - used)
        return left if free is None else min(free, left)
    return free


def _container_limit() -> int | None:
    return _number(_SYS / "fs/cgroup/memory.max")


def _number(path: Path) -> int | None:
    text = _read(path).strip()
    return int(text) if text.isdigit() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTimes:
    """Clock ticks since boot: of all processes, and of this one."""

    busy: float  # s, all processors together, stolen time included
    own: float  # s
    total: float  # s, idle included


def cpu_times() -> CpuTimes | None:
    """Busy time of the host and of this process; None where the system does not say."""
    fields = _read(_PROC / "stat").split("\n", 1)[0].split()[1:9]
    if len(fields) < 8 or not all(each.isdigit() for each in fields):
        return None
    tick = float(os.sysconf("SC_CLK_TCK"))
    user, nice, system, idle, wait, *rest = (int(each) / tick for each in fields)
    own = os.times()
    busy = user + nice + system + sum(rest)
    return CpuTimes(busy=busy, own=own.user + own.system, total=busy + idle + wait)


def others_share(before: CpuTimes | None, after: CpuTimes | None) -> float | None:
    """Share of the host's processors that other processes used between two readings."""
    if before is None or after is None or after.total - before.total < 0.05:
        return None
    others = (after.busy - before.busy) - (after.own - before.own)
    return min(1.0, max(0.0, others / (after.total - before.total)))


def rapl_packages() -> Iterator[Path]:
    """Energy counters of the processor packages that this process may read."""
    for each in sorted(_SYS.glob("class/powercap/intel-rapl:[0-9]*")):
        if each.name.count(":") == 1 and os.access(each / "energy_uj", os.R_OK):
            yield each
