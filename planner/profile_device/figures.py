"""A measured device as the engine sees it: rates by format, traffic, attention, launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planner.errors import PlannerError
from planner.profile_device.caches import cold_seconds, cold_seconds_per_byte
from planner.profile_device.links import MeasuredLink, links_of
from planner.profile_device.products import ProductCurve, fit_products, shapes_of
from planner.profile_device.reader import FIELD, Measured, Recorded, read_recorded
from planner.profile_device.traffic import (
    AttentionCurve,
    TrafficCurve,
    attention_of,
    traffic_of,
)

Array = np.ndarray[Any, np.dtype[Any]]

ELEMENT_BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a profile says about one device."""

    recorded: Recorded
    products: Mapping[str, ProductCurve]  # by format, only those measured well enough
    links: tuple[MeasuredLink, ...] = ()  # between such devices, those of most ranks first
    extrapolated: bool = False  # carried over from another accelerator: no shape answers itself

    def product(self, number_format: str) -> ProductCurve:
        """The products of a format. Raises PlannerError where the profile does not hold it."""
        if number_format not in self.products:
            known = ", ".join(self.products) or "no format"
            remedy = f"the profile measured products in {known}, not in {number_format}"
            raise PlannerError(FIELD, self.recorded.device_name, remedy)
        return self.products[number_format]

    @property
    def launch_seconds(self) -> float | None:
        """Of the smallest operation."""
        found = [each.seconds for each in self.recorded.results if each.kernel == "launch"]
        return found[0] if found else None

    @property
    def bandwidth(self) -> float | None:
        """Of device memory: the largest copy, bytes/s."""
        found = self.traffic("copy", "fp32")
        return None if found is None else found.sustained

    @property
    def host_link(self) -> float | None:
        """From pinned host memory to the device: the largest copy, bytes/s."""
        found = self.traffic("h2d", "fp32", memory="pinned")
        return None if found is None else found.sustained

    def cold(self, number_format: str, weights: Array | float, moved: Array | float) -> Array:
        """Seconds that products take beyond their steady times since their weights, of `weights`
        elements, are outside the caches; all that they move is `moved` elements."""
        size, cache = ELEMENT_BYTES[number_format], self.recorded.cache_bytes or 0.0
        per_byte = cold_seconds_per_byte(self.recorded.results, number_format)
        return cold_seconds(weights * size, moved * size, cache, per_byte)

    def link(self, devices: int) -> MeasuredLink | None:
        """Of one node: the group of as many ranks as there are devices, or of the most."""
        inside = [each for each in self.links if each.group.nodes == 1]
        same = [each for each in inside if each.group.ranks == devices]
        return next(iter([*same, *inside]), None)

    @property
    def network(self) -> MeasuredLink | None:
        """Between nodes: the group of the most ranks."""
        return next((each for each in self.links if each.group.nodes > 1), None)

    @property
    def mapping_seconds_per_byte(self) -> float:
        """Seconds for a byte of memory that the system maps anew; 0 where an allocator caches it
        or nothing timed it."""
        if self.recorded.kind != "cpu":
            return 0.0
        rows = [each for each in self.recorded.results if each.kernel == "allocate" and each.bytes]
        return rows[-1].seconds / rows[-1].bytes if rows else 0.0

    def traffic(self, kernel: str, number_format: str, **shape: int | str) -> TrafficCurve | None:
        """A memory-bound kernel by size; None where it was not measured."""
        return traffic_of(self.recorded.results, kernel, number_format, **shape)

    def attention(
        self, number_format: str, *, causal: bool, backward: bool
    ) -> AttentionCurve | None:
        """Attention by length; None where it was not measured."""
        kernel = "sdpa_backward" if backward else "sdpa"
        return attention_of(self.recorded.results, number_format, causal=int(causal), kernel=kernel)


def read_figures(path: str | Path) -> Figures:
    """The figures of a profile file. Raises PlannerError for no profile, or one with too little."""
    figures = figures_from(read_recorded(path))
    if not figures.products:
        remedy = "holds no products to plan with: measure again, with --resume if it was cut short"
        raise PlannerError(FIELD, str(path), remedy)
    return figures


def figures_of(device: Mapping[str, Any], results: Sequence[Any]) -> Figures:
    """The figures of a profile at hand: results with the fields of the file."""
    found = [_measured(each) for each in results if each.median_s is not None]
    return figures_from(
        Recorded(
            device_name=str(device["name"]),
            kind=str(device.get("kind", "")),
            sku_id=device.get("sku_id"),
            memory_bytes=device.get("memory_bytes"),
            threads=None,
            created="",
            complete=True,
            results=tuple(found),
            cache_bytes=device.get("cache_bytes"),
        )
    )


def _measured(result: Any) -> Measured:
    from planner.profile_device.reader import DOUBTFUL

    return Measured(
        kernel=result.kernel,
        format=result.format,
        mode=result.mode,
        shape=result.shape,
        seconds=result.median_s,
        flops=result.flops,
        bytes=result.bytes,
        doubtful=bool(DOUBTFUL & set(result.flags)),
    )


def figures_from(recorded: Recorded) -> Figures:
    """Fit the curves of every format that was measured at enough shapes."""
    curves = {}
    for number_format, size in ELEMENT_BYTES.items():
        shapes = shapes_of(recorded.results, number_format)
        if shapes is not None:
            curves[number_format] = fit_products(shapes, size)
    return Figures(recorded=recorded, products=curves, links=links_of(recorded.results))
