"""Host cost of what happens beside the layers: optimizer steps, collectives, random states."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from benchmarks.host_overhead.kernels import process_group
from benchmarks.host_overhead.timing import QUANTILE, quiet

FEW, MANY = 16, 64  # parameter tensors
REPEATS = 60
OPTIMIZERS: dict[str, dict[str, bool]] = {
    "adamw": {"foreach": False, "fused": False},
    "adamw-foreach": {"foreach": True},
    "adamw-fused": {"fused": True},
}


def seconds(*runs: Callable[[], object]) -> list[float]:
    """A low quantile of the thread's time for one call of each, taken in turn."""
    with quiet():
        times = [[_once(run) for run in runs] for _ in range(REPEATS)]
    return [float(each) for each in np.quantile(times, QUANTILE, axis=0)]


def _once(run: Callable[[], object]) -> float:
    run()
    start = time.thread_time()
    run()
    return time.thread_time() - start


def per_tensor(make: Callable[[list[Tensor]], Callable[[], object]]) -> tuple[float, float]:
    """Seconds that a call takes per parameter tensor, and once."""
    few, many = seconds(*(make(_tensors(count)) for count in (FEW, MANY)))
    each = (many - few) / (MANY - FEW)
    return each, few - FEW * each


def _tensors(count: int) -> list[Tensor]:
    made = [torch.ones(4, 16, requires_grad=True) for _ in range(count)]
    for each in made:
        each.grad = torch.ones(4, 16)
    return made


def optimizer_seconds(name: str) -> tuple[float, float]:
    """Seconds of one AdamW step per parameter tensor, and what a step costs once."""
    return per_tensor(lambda held: torch.optim.AdamW(held, lr=1e-3, **OPTIMIZERS[name]).step)


def clip_seconds() -> tuple[float, float]:
    """Seconds of clipping the gradients by their norm, per tensor and once."""
    return per_tensor(lambda held: lambda: torch.nn.utils.clip_grad_norm_(held, 1.0))


def wrapper_seconds() -> float:
    """`torch.distributed.all_reduce` on a group that does nothing: checks and Python alone."""
    group, x = process_group(8), torch.ones(16)
    return seconds(lambda: dist.all_reduce(x, group=group))[0]


def enqueue_seconds() -> float:
    """Gloo's all-reduce of one rank, until the call returns; stands for NCCL's enqueueing."""
    group = dist.ProcessGroupGloo(dist.HashStore(), 0, 1, timedelta(seconds=30))
    x, works = torch.ones(16), []
    result = seconds(lambda: works.append(group.allreduce([x])))[0]
    for work in works:
        work.wait()
    return result


def accumulate_seconds() -> float:
    """Adding one tensor's gradient to the one that is there, in the backward pass.

    Against a first backward pass, which keeps the new gradient without a kernel.
    """
    first, later = _tensors(FEW), _tensors(FEW)
    fresh, added = seconds(
        lambda: _backward(first, keep=False), lambda: _backward(later, keep=True)
    )
    return (added - fresh) / FEW


def _backward(tensors: list[Tensor], *, keep: bool) -> None:
    for each in tensors:
        each.grad = each.grad if keep else None
    outs = [each * 2.0 for each in tensors]
    torch.autograd.backward(outs, [each.detach() for each in outs])


def parts() -> dict[str, float]:
    """Seconds by name."""
    clip = clip_seconds()
    result = {
        "collective_wrapper": wrapper_seconds(),
        "collective_enqueue_gloo": enqueue_seconds(),
        "accumulate_per_tensor": accumulate_seconds(),
        "clip_per_tensor": clip[0],
        "clip_once": clip[1],
    }
    for name in OPTIMIZERS:
        result[f"{name}_per_tensor"], result[f"{name}_once"] = optimizer_seconds(name)
    return result
