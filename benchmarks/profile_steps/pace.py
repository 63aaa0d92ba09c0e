"""The machine's pace now against the time of a profile, by a few of the profile's own kernels."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

from planner.planning.result import Plan
from profiles.catalogue import kernels
from profiles.device import Device
from profiles.kernels.kernel import Kernel
from profiles.timing import Limits, time_kernel


def pace(profile: str, device: Device, found: Plan) -> float:
    """Time now over time of the profile, of a few of its kernels, as the plan weighs them."""
    known = _profiled_seconds(profile)
    ratios: dict[str, list[float]] = {"products": [], "traffic": []}
    for kernel in kernels(device, "quick"):
        kind = _kind(kernel, str(found.chosen["precision"]))
        then = known.get((kernel.name, kernel.format, _sizes(kernel.shape)))
        if kind and then and kernel.mode == "steady":
            limits = Limits(seconds=0.2, warmup_most_seconds=0.1)
            now = time_kernel(kernel.make(device).call, device, limits=limits).median_s
            ratios[kind].append(now / then)
    parts = found.step.parts
    computed = sum(parts[name] for name in ("matmul", "attention", "output_layer"))
    share = computed / (found.step.seconds - parts["overhead"])
    return share * median(ratios["products"]) + (1 - share) * median(ratios["traffic"])


def _kind(kernel: Kernel, number_format: str) -> str | None:
    """Products as large as those of the models' layers; traffic of the larger sizes."""
    if kernel.format == number_format and kernel.name == "gemm" and 3e8 < kernel.flops < 7e8:
        return "products"
    large = kernel.format == "fp32" and kernel.bytes > 2e7
    return "traffic" if large and kernel.name in ("add", "gelu_backward") else None


def _profiled_seconds(profile: str) -> dict[Any, float]:
    with open(profile, encoding="utf-8") as file:
        rows = json.load(file)["results"]
    return {
        (row["kernel"], row["format"], _sizes(row["shape"])): row["median_s"]
        for row in rows
        if row["mode"] == "steady"
    }


def _sizes(shape: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(shape.items()))
