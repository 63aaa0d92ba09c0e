"""Stand-ins for what does not exist on a CPU: fused extension kernels, device random states."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

_DEVICE_RANDOM = torch.Generator()


def kernel(x: Tensor, extra_outputs: int = 0) -> Tensor:
    """One fused extension kernel: one launch, and an allocation per further output."""
    for _ in range(extra_outputs):
        torch.empty_like(x)
    return torch.neg(x)


def device_random_state() -> Tensor:
    """The device generator's state as a host tensor, as `torch.cuda.get_rng_state` gives it."""
    return _DEVICE_RANDOM.get_state()


def set_device_random_state(state: Tensor) -> None:
    """Sets the device generator's state: a host operation on CUDA too."""
    _DEVICE_RANDOM.set_state(state)


@cache
def process_group(size: int) -> Any:
    """A group of `size` ranks whose collectives do nothing, so that only the call costs."""
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if not dist.is_initialized():
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=8)
    return dist.group.WORLD if size == 8 else dist.new_group(list(range(size)))
