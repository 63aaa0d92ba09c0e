"""A measured device as an accelerator: measured rates in place of published ones."""

from __future__ import annotations

from dataclasses import replace

import hardware_db
from hardware_db import Accelerator, Achievable, Support
from planner.engine.constants import constants
from planner.profile_device.figures import Figures

_METHOD = "forerun profile"


class UnlistedAccelerator(Accelerator):
    """A device that no table knows: it computes in the formats that its profile measured."""

    __slots__ = ()

    def supports(self, format: str) -> Support:
        return "native" if format in self.peak_flops else "unsupported"


def listed(sku_id: str | None) -> Accelerator | None:
    """The table's row of a profile's device; None for a device that it does not have."""
    if sku_id is None:
        return None
    try:
        return hardware_db.accelerator(sku_id)
    except hardware_db.HardwareError:
        return None


def measured_accelerator(figures: Figures, part: Accelerator | None) -> Accelerator:
    """The accelerator that was measured, `part` in the table or None where it is not in there.

    Rates in FLOP/s and bytes/s, memory in bytes. Best rates become fractions of the published
    peaks, which utilisation is still counted against; where nobody published one, the best rate
    that was measured stands for the peak. Memory bandwidth is stated so that the engine's sustained
    share of it gives the measured copy, and links so that it gives the measured collectives,
    whichever of them joins the devices of a node.
    """
    part = part or _unlisted(figures)
    peaks = {name: curve.peak for name, curve in figures.products.items()}
    stated = {**peaks, **part.peak_flops}
    best = {name: _achievable(figures, name, rate / stated[name]) for name, rate in peaks.items()}
    memory, transfer = figures.recorded.memory_bytes, figures.host_link
    joined = _stated_link(figures)
    changed = replace(
        part,
        peak_flops=stated,
        achievable={**part.achievable, **best},
        memory_bandwidth=_stated_bandwidth(figures) or part.memory_bandwidth,
        usable_bytes=memory or part.usable_bytes,
        link=replace(part.link, bytes_per_second=joined) if part.link and joined else part.link,
        pcie_bytes_per_second=joined or part.pcie_bytes_per_second,
        host_bytes_per_second=transfer or part.host_bytes_per_second,
    )
    known = {
        **dict.fromkeys(best, True),
        "memory_bandwidth": figures.bandwidth is not None,
        "usable_bytes": memory is not None,
    }
    doubtful = tuple(name for name in changed.memory_fields if not known.get(name))
    return replace(changed, memory_fields=doubtful)


def _stated_bandwidth(figures: Figures) -> float | None:
    return None if figures.bandwidth is None else figures.bandwidth / constants().bandwidth


def _stated_link(figures: Figures) -> float | None:
    """Of the widest group in one node; None where no collective was timed."""
    measured = figures.link(0)
    if measured is None:
        return None
    return measured.bytes_per_second() / constants().link


def _achievable(figures: Figures, number_format: str, fraction: float) -> Achievable:
    return Achievable(
        format=number_format,
        fraction=fraction,
        method=_METHOD,
        confidence="measured",
        source=figures.recorded.created,
        note="",
    )


def _unlisted(figures: Figures) -> UnlistedAccelerator:
    """What a profile alone says of a device; all else is unknown."""
    recorded = figures.recorded
    return UnlistedAccelerator(
        sku_id=recorded.device_name,
        vendor="unknown",
        name=recorded.device_name,
        architecture="",
        compute_capability=None,
        gfx_target=None,
        year=0,
        form_factor=recorded.kind,
        nameplate_gb=None,
        memory_bytes=recorded.memory_bytes,
        usable_bytes=recorded.memory_bytes,
        usable_basis="measured",
        usable_source=_METHOD,
        memory_type="",
        memory_bandwidth=None,
        peak_flops={},
        fp16_accumulate_flops=None,
        link=None,
        pcie_bytes_per_second=None,
        host_link_name=None,
        host_bytes_per_second=None,
        tdp_watts=None,
        multiprocessors=None,
        boost_hertz=None,
        l2_bytes=None,
        logical_devices=1,
        msrp_usd=None,
        achievable={},
        memory_fields=(),
        confidence="measured",
        as_of=recorded.created,
        source=_METHOD,
        note="",
    )
