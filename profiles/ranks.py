"""Timing among the ranks of an initialised process group: the slowest rank's time counts."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from profiles.device import Device
from profiles.errors import ProfileError

_WARM, _SAMPLES = 3, 20  # calls before, calls timed at most


def slowest_samples(
    distributed: Any, device: Device, call: Callable[[], Any], seconds: float
) -> list[float]:
    """Seconds of the slowest rank for each call; all ranks agree on how many."""
    for _ in range(_WARM):
        once = _slowest(distributed, device, call)
    count = max(3, min(_SAMPLES, int(seconds / max(once, 1e-7))))
    return [_slowest(distributed, device, call) for _ in range(count)]


def first_alone(distributed: Any, device: Device, work: Callable[[], None]) -> bool:
    """Whether `work`, which the first rank alone does, succeeded; every rank learns it.

    Raises on the first rank what failed there.
    """
    failure: ProfileError | None = None
    if distributed.get_rank() == 0:
        try:
            work()
        except ProfileError as error:
            failure = error
    told = device.torch.tensor([float(failure is None)], device=device.label)
    distributed.broadcast(told, 0)
    if failure is not None:
        raise failure
    return bool(told.item())


def passes_limit(median: float, seconds: float) -> bool:
    """Whether three samples of such a time would take longer than `seconds`."""
    return median * (_WARM + 3) > seconds


def _slowest(distributed: Any, device: Device, call: Callable[[], Any]) -> float:
    distributed.barrier()
    mine = device.region(call, 1).seconds
    slowest = device.torch.tensor([mine], dtype=device.torch.float64, device=device.label)
    distributed.all_reduce(slowest, op=distributed.ReduceOp.MAX)
    return float(slowest.item())


def group_shape(distributed: Any, backend: str) -> dict[str, int | str]:
    """What tells this group from others in a result's shape."""
    ranks = int(distributed.get_world_size())
    nodes = int(os.environ.get("GROUP_WORLD_SIZE", 1))  # launchers, one on each machine
    return {"ranks": ranks, "nodes": min(nodes, ranks), "backend": backend}
