"""Peak memory of a step: the allocator's figure on a GPU, tensors counted as they live on a CPU."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from profiles.backend import torch_module
from profiles.device import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The highest memory of one run of something, bytes."""

    allocated_bytes: int  # tensors
    before_bytes: int  # tensors that were there when it began
    reserved_bytes: int | None  # held by the allocator; None where there is no caching allocator
    method: str


def peak_of(work: Callable[[], object], device: Device) -> Peak:
    """Run `work` once and say how high memory rose."""
    if device.kind == "cuda":
        return _by_allocator(work, device)
    return _by_tracking(work, device)


def _by_allocator(work: Callable[[], object], device: Device) -> Peak:
    cuda = device.torch.cuda
    device.synchronise()
    before = int(cuda.memory_allocated())
    cuda.reset_peak_memory_stats()
    work()
    device.synchronise()
    return Peak(
        allocated_bytes=int(cuda.max_memory_allocated()),
        before_bytes=before,
        reserved_bytes=int(cuda.max_memory_reserved()),
        method="torch allocator",
    )


def _by_tracking(work: Callable[[], object], device: Device) -> Peak:
    counter = _tracker(device)
    before = counter.live
    with counter:
        work()
    return Peak(
        allocated_bytes=counter.peak,
        before_bytes=before,
        reserved_bytes=None,
        method="live tensors counted by torch's dispatch, without workspaces inside operations",
    )


def _tracker(device: Device) -> Any:
    torch = torch_module()
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Tracker(TorchDispatchMode):  # type: ignore[no-untyped-call]
        """Counts every storage from the operation that makes it until it is freed."""

        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.live = 0
            self.peak = 0
            self._known: dict[int, Any] = {}
            for each in _tensors(torch):
                self._count(each)

        def __torch_dispatch__(
            self, call: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = call(*args, **(kwargs or {}))
            for each in tree_leaves(result):
                if isinstance(each, torch.Tensor):
                    self._count(each)
            return result

        def _count(self, tensor: Any) -> None:
            if tensor.device.type != device.kind or tensor.layout != torch.strided:
                return
            storage = tensor.untyped_storage()
            if storage.device.type != device.kind:  # a fake tensor, left by a compilation
                return
            key = storage._cdata
            if key in self._known:
                return
            size = storage.nbytes()
            self._known[key] = weakref.ref(storage, lambda _: self._freed(key, size))
            self.live += size
            self.peak = max(self.peak, self.live)

        def _freed(self, key: int, size: int) -> None:
            self._known.pop(key, None)
            self.live -= size

    return Tracker()


def _tensors(torch: Any) -> list[Any]:
    """Every tensor that Python holds, gradients included."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # looking at some objects' types warns
        for each in gc.get_objects():
            if issubclass(type(each), torch.Tensor):
                found.append(each)
                if each.is_leaf and each.grad is not None:
                    found.append(each.grad)
    return found
