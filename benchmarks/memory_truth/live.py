"""Follows every storage that torch allocates until it is freed."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator

import torch
from torch.utils._python_dispatch import TorchDispatchMode

KINDS = ("parameters", "gradients", "optimizer", "weight_casts", "activations")


class LiveStorages(TorchDispatchMode):
    """Live bytes by kind, and their highest sum in every phase.

    A storage counts from the operation that returns it to its last reference, whatever the number
    of views on it; so do graph nodes' saved tensors. Kinds are given by `label`; what no one
    labels is an activation. Sizes are the tensors' own, without an allocator's rounding.
    """

    def __init__(self) -> None:
        super().__init__()
        self.live = dict.fromkeys(KINDS, 0)  # bytes
        self.peaks: dict[str, dict[str, int]] = {}  # phase -> live at its peak
        self.phase = "setup"
        self._storages: dict[int, tuple[weakref.ref, int, str]] = {}

    @property
    def total(self) -> int:
        """Live bytes."""
        return sum(self.live.values())

    def enter_phase(self, phase: str) -> None:
        """Later allocations count for `phase`."""
        self.phase = phase
        self._note_peak()

    def label(self, tensors: Iterable[torch.Tensor], kind: str) -> None:
        """Say what these tensors' storages are."""
        for tensor in tensors:
            self._adopt(tensor, kind)
            key = tensor.untyped_storage()._cdata
            reference, size, old = self._storages[key]
            self._storages[key] = (reference, size, kind)
            self.live[old] -= size
            self.live[kind] += size

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = func(*args, **(kwargs or {}))
        kind = "weight_casts" if self._casts_weight(func, args) else "activations"
        for tensor in _tensors(out):
            self._adopt(tensor, kind)
        self._note_peak()
        return out

    def _casts_weight(self, func, args: tuple) -> bool:  # type: ignore[no-untyped-def]
        if func is not torch.ops.aten._to_copy.default:
            return False
        _, _, kind = self._storages.get(args[0].untyped_storage()._cdata, (None, 0, ""))
        return kind == "parameters"

    def _adopt(self, tensor: torch.Tensor, kind: str) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._storages:
            return
        size = storage.nbytes()
        self._storages[key] = (weakref.ref(storage, lambda _: self._drop(key)), size, kind)
        self.live[kind] += size

    def _drop(self, key: int) -> None:
        _, size, kind = self._storages.pop(key)
        self.live[kind] -= size

    def _note_peak(self) -> None:
        peak = self.peaks.get(self.phase)
        if peak is None or self.total > sum(peak.values()):
            self.peaks[self.phase] = dict(self.live)


def _tensors(out: object) -> Iterator[torch.Tensor]:
    if isinstance(out, torch.Tensor):
        yield out
    elif isinstance(out, (tuple, list)):
        for part in out:
            yield from _tensors(part)
