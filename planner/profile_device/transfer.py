"""A profile of one accelerator carried over to another by roofline: efficiency stays, rates scale.

What a kernel takes beyond its launch shrinks as the roof that binds it grows: published peak of its
format (as far as others measured it reached, where they did so on both), or published memory
bandwidth. Its launch is the host's work and stays as measured.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import hardware_db
from planner.errors import PlannerError
from planner.profile_device.figures import Figures, figures_from
from planner.profile_device.products import is_product
from planner.profile_device.reader import FIELD, Measured
from profiles.at_once import COPY, PRODUCT
from profiles.links import COLLECTIVES

if TYPE_CHECKING:
    from hardware_db import Accelerator

FILE = Path(__file__).parent / "data" / "transfer_error.json"
_HOST_KERNELS = frozenset({"launch"})  # the host's work, whatever the device
# of the measured machine's links and driver
_LEFT_BEHIND = frozenset({"h2d", "d2h", "allocate", PRODUCT, COPY, *COLLECTIVES})


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """From the accelerator that was measured to the one that is planned for."""

    source: str  # sku id
    target: str
    peaks: dict[str, float]  # by format: peak of the target over that of the source
    reached: tuple[str, ...]  # formats whose peaks count as far as others measured them reached
    bandwidth: float  # the same of the memory bandwidth
    sigma: float  # standard deviation of the logarithm of a time, that the carrying over adds


def transferred(
    figures: Figures, source: Accelerator, target: Accelerator
) -> tuple[Figures, Transfer]:
    """The figures that `target` would have with the efficiency of `source`.

    Raises PlannerError, field `hardware.profile`, where either side lacks a published bandwidth or
    no format has a published peak on both.
    """
    ratio = _bandwidth_ratio(source, target)
    peaks = {
        name: found for name in figures.products if (found := _peak_ratio(name, source, target))
    }
    if not peaks:
        remedy = (
            f"no format that it measured has a published peak on both {source.sku_id} and "
            f"{target.sku_id}: nothing scales it"
        )
        raise PlannerError(FIELD, figures.recorded.device_name, remedy)
    rows = tuple(_rows(figures, source, target, peaks, ratio))
    recorded = replace(
        figures.recorded,
        sku_id=target.sku_id,
        memory_bytes=target.usable_bytes,
        cache_bytes=target.l2_bytes or figures.recorded.cache_bytes,
        results=rows,
    )
    transfer = Transfer(
        source=source.sku_id,
        target=target.sku_id,
        peaks=peaks,
        reached=tuple(name for name in peaks if _reached_ratio(name, source, target)),
        bandwidth=ratio,
        sigma=transfer_sigma(source.vendor == target.vendor),
    )
    return replace(figures_from(recorded), extrapolated=True), transfer


def _bandwidth_ratio(source: Accelerator, target: Accelerator) -> float:
    before, after = source.memory_bandwidth, target.memory_bandwidth
    if not before or not after:
        part = target if before else source
        remedy = f"the memory bandwidth of {part.sku_id} is not published: nothing scales it"
        raise PlannerError(FIELD, part.sku_id, remedy)
    return after / before


def _peak_ratio(number_format: str, source: Accelerator, target: Accelerator) -> float | None:
    """None where either lacks the format in hardware or its published peak."""
    sides = (source, target)
    if any(part.supports(number_format) != "native" for part in sides):
        return None
    before, after = (part.peak(number_format) for part in sides)
    if not before or not after:
        return None
    return after / before * (_reached_ratio(number_format, source, target) or 1.0)


def _reached_ratio(number_format: str, source: Accelerator, target: Accelerator) -> float | None:
    """Of the best shares of their peaks that somebody measured; None where one is not known."""
    before, after = (part.achievable_fraction(number_format) for part in (source, target))
    return after / before if before and after else None


def _rows(
    figures: Figures,
    source: Accelerator,
    target: Accelerator,
    peaks: dict[str, float],
    bandwidth: float,
) -> Iterator[Measured]:
    """Every result with the seconds that the target would take."""
    for row in figures.recorded.results:
        if row.kernel in _LEFT_BEHIND:
            continue
        if row.kernel in _HOST_KERNELS:
            yield row
            continue
        if row.flops > 0 and row.format not in peaks:
            continue
        seconds = (
            _product_seconds(figures, row, peaks[row.format], bandwidth)
            if is_product(row)
            else _kernel_seconds(figures, row, source, peaks.get(row.format), bandwidth)
        )
        peak, moved = target.peak(row.format), target.memory_bandwidth
        floor = row.flops / peak if row.flops > 0 and peak else 0.0
        if row.kernel == "copy" and moved:
            floor = max(floor, row.bytes / moved)
        yield replace(row, seconds=max(seconds, floor))


def _product_seconds(figures: Figures, row: Measured, peak: float, bandwidth: float) -> float:
    """Start kept, compute and traffic scaled, in the shares that the fitted curve gives them."""
    curve = figures.products[row.format]
    m, n, k = (float(row.shape[name]) for name in ("m", "n", "k"))
    way = str(row.shape.get("pass", "forward"))
    start, compute, traffic = (float(each) for each in curve.terms(m, n, k, way))
    share = (start + compute / peak + traffic / bandwidth) / (start + compute + traffic)
    return row.seconds * share


def _kernel_seconds(
    figures: Figures, row: Measured, source: Accelerator, peak: float | None, bandwidth: float
) -> float:
    """What it takes beyond a launch, by the roof that binds it on the source."""
    launch = min(figures.launch_seconds or 0.0, row.seconds)
    stated, moved = source.peak(row.format), source.memory_bandwidth
    assert moved
    compute = row.flops / stated if stated and peak else 0.0
    ratio = peak if peak and compute > row.bytes / moved else bandwidth
    return launch + (row.seconds - launch) / ratio


@cache
def transfer_sigma(same_vendor: bool) -> float:
    """How far a carried-over profile errs as a whole: standard deviation of the logarithm.

    Within one vendor as `benchmarks.profile_transfer` found between pairs of GPUs, with its origin
    in the file; between two, wider by as much as the shares of the peaks that accelerators reach
    lie further apart.
    """
    own = float(json.loads(FILE.read_text(encoding="utf-8"))["sigma"])
    return own if same_vendor else own * max(_apart(False) / _apart(True), 1.0)


def _apart(same_vendor: bool) -> float:
    """Deviation of the logarithm of measured best shares of the peak, over pairs in the table."""
    squares = [
        math.log(a.achievable[name].fraction / b.achievable[name].fraction) ** 2
        for a, b in combinations(hardware_db.accelerators(), 2)
        if (a.vendor == b.vendor) == same_vendor
        for name in a.achievable.keys() & b.achievable.keys()
    ]
    assert squares, "the table holds measured rates"
    return math.sqrt(sum(squares) / len(squares))
