"""The accelerators and links of a batch as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.engine.formats import ATTENTION, MATMUL
from planner.engine.records import columns

if TYPE_CHECKING:
    from hardware_db import Accelerator
    from planner.engine.configuration import Configuration

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Accelerators and their links, (n,) each."""

    matmul_peak: Array  # FLOP/s, dense, FP32 accumulation, format of the large products
    matmul_achievable: Array  # measured best fraction of that peak, NaN = not measured
    attention_peak: Array  # FLOP/s, format of attention and of the output layer
    attention_achievable: Array
    bandwidth: Array  # bytes/s of device memory
    link: Array  # bytes/s one way to the scale-up domain
    domain: Array  # devices in the scale-up domain
    network: Array  # bytes/s one way per accelerator between domains
    host_link: Array  # bytes/s one way to host memory
    capacity: Array  # bytes that a process can allocate
    power: Array  # watts, board limit
    sm_count: Array  # streaming multiprocessors, NaN = unknown
    generation: Array  # compute capability as major.minor, NaN = not an NVIDIA part
    dense16_peak: Array  # FLOP/s, dense, 16-bit format, whatever the recipe
    tpu: Array  # 0 or 1
    amd: Array  # 0 or 1


def machines(configurations: Sequence[Configuration], parts: Sequence[Accelerator]) -> Machine:
    """The arrays of one machine per configuration."""
    rows = [_row(*pair) for pair in zip(configurations, parts, strict=True)]
    return Machine(**columns(rows))


def _row(configuration: Configuration, part: Accelerator) -> dict[str, float]:
    matmul, attention = MATMUL[configuration.precision], ATTENTION[configuration.precision]
    link, domain = _scale_up(configuration, part)
    return {
        "matmul_peak": _peak(part, matmul),
        "matmul_achievable": _or_nan(_fraction(part, matmul)),
        "attention_peak": _peak(part, attention),
        "attention_achievable": _or_nan(_fraction(part, attention)),
        "bandwidth": _or_nan(part.memory_bandwidth),
        "link": link,
        "domain": domain,
        "network": configuration.network_bytes_per_second,
        "host_link": _or_nan(part.host_bytes_per_second),
        "capacity": _or_nan(part.usable_bytes),
        "power": _or_nan(configuration.power_limit_watts or part.tdp_watts),
        "sm_count": _or_nan(part.multiprocessors),
        "generation": _capability(part),
        "dense16_peak": _or_nan(part.peak("bf16") or part.peak("fp16")),
        "tpu": float(part.vendor == "google"),
        "amd": float(part.vendor == "amd"),
    }


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _peak(part: Accelerator, number_format: str) -> float:
    """Dense rate in FLOP/s; an emulated 16-bit format runs on the FP32 units."""
    if part.supports(number_format) == "emulated":
        return _or_nan(part.peak("fp32"))
    return _or_nan(part.peak(number_format))


def _fraction(part: Accelerator, number_format: str) -> float | None:
    """Measured best fraction of the peak, None where nobody measured or the format is emulated."""
    if part.supports(number_format) != "native":
        return None
    return part.achievable_fraction(number_format)


def _capability(part: Accelerator) -> float:
    if part.compute_capability is None:
        return float("nan")
    major, minor = part.compute_capability
    return major + minor / 10


def _scale_up(configuration: Configuration, part: Accelerator) -> tuple[float, float]:
    """One-way bytes/s of the link inside a node and how many devices share it.

    A bridge that joins fewer devices than a node holds does not carry the node's collectives:
    their rings cross PCIe, which is the slowest of their links.
    """
    per_node = configuration.devices_per_node
    bridged = part.link is not None and part.link.domain_size < per_node
    if part.link is None and per_node == 1:
        return float("inf"), 1  # nothing to cross
    if part.link is None or (bridged and part.pcie_bytes_per_second is not None):
        return _or_nan(part.pcie_bytes_per_second), per_node
    return part.link.bytes_per_second, max(per_node, part.link.domain_size)
