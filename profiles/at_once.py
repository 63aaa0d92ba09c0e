"""What a device's own work takes while all ranks work: they share memory, power and a host."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from profiles.device import Device
from profiles.kernels.gemm import gemm
from profiles.kernels.kernel import Kernel
from profiles.kernels.memory import copy
from profiles.links import Group, group_of
from profiles.ranks import group_shape, slowest_samples
from profiles.result import Result
from profiles.statistics import iqr, median

PRODUCT, COPY = "product_at_once", "copy_at_once"  # not products and copies of one device alone
_SIDE = {"cpu": 1024, "cuda": 8192, "mps": 2048}  # of a product that keeps the device busy
_COPIED = {"cpu": 2**27, "cuda": 2**30, "mps": 2**28}  # bytes that no cache holds


def measured(device: Device, distributed: Any, backend: str, seconds: float) -> list[Result]:
    """A product and a copy, by the first rank alone and by all ranks at once."""
    side = _SIDE[device.kind]
    word = "bf16" if device.kind == "cuda" else "fp32"
    kernels = {PRODUCT: gemm(side, side, side, word), COPY: copy(_COPIED[device.kind])}
    found = []
    for name, kernel in kernels.items():
        ready = kernel.make(device)
        for busy in (1, int(distributed.get_world_size())):
            works = distributed.get_rank() < busy
            call: Callable[[], Any] = ready.call if works else _nothing
            samples = slowest_samples(distributed, device, call, seconds)
            shape = {**kernel.shape, **group_shape(distributed, backend), "busy": busy}
            found.append(_result(name, kernel, shape, samples))
    return found


def _nothing() -> None:
    """The work of a rank that waits."""


def _result(
    name: str, kernel: Kernel, shape: Mapping[str, int | str], samples: list[float]
) -> Result:
    return Result(
        kernel=name,
        format=kernel.format,
        shape=shape,
        mode="steady",
        median_s=median(samples),
        iqr_s=iqr(samples),
        n=len(samples),
        flops=kernel.flops,
        bytes=kernel.bytes,
    )


Timed = tuple[str, Mapping[str, int | str], float]  # kernel, shape, seconds


def slowdowns(timed: Iterable[Timed]) -> dict[Group, dict[str, float]]:
    """By group, most ranks first, and kernel: time while all ranks work over time alone.

    >>> shape = {"ranks": 2, "nodes": 1, "backend": "gloo"}
    >>> rows = [(COPY, shape | {"busy": 1}, 1.0), (COPY, shape | {"busy": 2}, 1.5)]
    >>> slowdowns(rows)
    {Group(ranks=2, nodes=1, backend='gloo'): {'copy_at_once': 1.5}}
    """
    times: dict[tuple[Group, str], dict[object, float]] = {}
    for kernel, shape, seconds in timed:
        group = group_of(shape)
        if kernel in (PRODUCT, COPY) and group is not None:
            times.setdefault((group, kernel), {})[shape.get("busy")] = seconds
    found: dict[Group, dict[str, float]] = {}
    for (group, kernel), by_busy in sorted(times.items(), reverse=True):
        alone, together = by_busy.get(1), by_busy.get(group.ranks)
        if alone and together:
            found.setdefault(group, {})[kernel] = max(together / alone, 1.0)
    return found


def slowdowns_between(results: Iterable[Result]) -> dict[Group, dict[str, float]]:
    """The slowdowns that the results of a profile show."""
    known = [each for each in results if each.median_s is not None]
    return slowdowns((each.kernel, each.shape, each.median_s or 0.0) for each in known)
