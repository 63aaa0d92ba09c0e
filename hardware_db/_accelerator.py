"""One accelerator: what its makers state and what was measured on it, in SI units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hardware_db._formats import FORMATS, Support, architecture_support, nvidia_support
from hardware_db.errors import UnknownName


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The link between accelerators of one scale-up domain (NVLink, Infinity Fabric, ICI)."""

    name: str
    bytes_per_second: float  # one way, per accelerator, all its links together
    domain_size: int  # accelerators that reach each other at this rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Achievable:
    """The best rate of a plain matrix product that somebody measured, against the stated peak."""

    format: str
    fraction: (
        float  # of `Accelerator.peak(format)`; above 1 where clocks boost beyond the datasheet
    )
    method: str
    confidence: str
    source: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """A row of accelerators.csv. None is unknown; `memory_fields` rest on nobody's document."""

    sku_id: str
    vendor: str
    name: str
    architecture: str
    compute_capability: tuple[int, int] | None  # NVIDIA only
    gfx_target: str | None  # AMD only
    year: int
    form_factor: str
    nameplate_gb: float | None  # as sold; None for a CPU, whose memory depends on the machine
    memory_bytes: float | None  # nameplate in bytes: vendors' memory "GB" are GiB
    usable_bytes: float | None  # what the framework reports as total memory
    usable_basis: Literal["measured", "rule"] | None
    usable_source: str
    memory_type: str
    memory_bandwidth: float | None  # bytes/s, datasheet
    peak_flops: Mapping[str, float]  # FLOP/s by format: dense, FP32 accumulation
    fp16_accumulate_flops: float | None  # FLOP/s of fp16 with fp16 accumulation: not for training
    link: Link | None  # to the other accelerators of its domain
    pcie_bytes_per_second: float | None  # one way
    host_link_name: str | None  # PCIe, or NVLink-C2C where the CPU sits on it
    host_bytes_per_second: float | None  # one way, fastest link to the host
    tdp_watts: float | None
    multiprocessors: int | None  # SM, CU, core
    boost_hertz: float | None
    l2_bytes: float | None
    logical_devices: int  # devices that software sees per accelerator (2 for an MI250X)
    msrp_usd: float | None
    achievable: Mapping[str, Achievable]  # by format
    memory_fields: tuple[str, ...]  # fields known from memory or derived only: they widen an answer
    confidence: str
    as_of: str
    source: str
    note: str

    def __hash__(self) -> int:
        return hash(self.sku_id)

    def peak(self, format: str) -> float | None:
        """Dense FLOP/s of `format` with FP32 accumulation, None where unknown or not in hardware.

        >>> from hardware_db import accelerator
        >>> accelerator("rtx-4090").peak("bf16"), accelerator("t4").peak("bf16")
        (165200000000000.0, None)
        """
        return self.peak_flops.get(_known(format))

    def supports(self, format: str) -> Support:
        """Whether the hardware computes in `format`: native, emulated or unsupported.

        >>> from hardware_db import accelerator
        >>> accelerator("v100-sxm2-16gb").supports("bf16"), accelerator("rtx-3090").supports("fp8")
        ('emulated', 'unsupported')
        """
        _known(format)
        if self.compute_capability is not None:
            return nvidia_support(self.compute_capability, format)
        return architecture_support(self.architecture, format)

    def achievable_fraction(self, format: str) -> float | None:
        """Measured share of `peak(format)` that a plain matrix product reaches, None if unmeasured.

        fp16 and bf16 stand in for each other where their peaks are equal: the same units, the
        same clocks.

        >>> from hardware_db import accelerator
        >>> accelerator("h100-sxm5-80gb").achievable_fraction("fp16")
        0.803
        """
        found = self.achievable.get(_known(format))
        if found is None and format in ("fp16", "bf16"):
            other = "bf16" if format == "fp16" else "fp16"
            if self.peak(format) is not None and self.peak(other) == self.peak(format):
                found = self.achievable.get(other)
        return found.fraction if found else None

    def from_memory(self, field: str) -> bool:
        """Whether `field` (a name of this class, or a format for its peak) rests on memory only."""
        return field in self.memory_fields


def _known(format: str) -> str:
    if format not in FORMATS:
        remedy = f"known formats are {', '.join(FORMATS)}"
        raise UnknownName("format", format, remedy, FORMATS)
    return format
