"""Follows a training step on fake tensors: every operation, and every tensor while it lives."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from planner.tracing.costs import Cost, costs_of, tensors

STATES, GRADIENTS, ACTIVATIONS = "states", "gradients", "activations"
MOST_OPERATIONS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One kernel of the step."""

    direction: str  # forward | backward
    cost: Cost
    shapes: tuple[tuple[int, ...], ...]  # of the tensors it reads


@dataclass(slots=True, kw_only=True)
class Step:
    """What one step did, in order. Bytes."""

    operations: list[Operation] = field(default_factory=list)
    moments: list[tuple[int, int]] = field(default_factory=list)  # activations, gradients alive
    saved: int = 0  # alive at the end of the forward pass, beside states
    forward_moments: int = 0  # moments up to there


class TooManyOperationsError(Exception):
    """A step of more operations than anybody's."""


class Recorder(TorchDispatchMode):
    """Records operations and live bytes by kind; enter it inside a FakeTensorMode.

    A storage counts from the operation that makes it to its last reference, whatever the number of
    views on it, so tensors that autograd saves count once and as long as it keeps them.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.step = Step()
        self.direction = "forward"
        self._live = {STATES: 0, GRADIENTS: 0, ACTIVATIONS: 0}
        self._storages: dict[int, tuple[Any, int, str]] = {}

    def label(self, values: Any, kind: str) -> None:
        """Say that these tensors are parameters and buffers, or gradients."""
        for tensor in values:
            self._adopt(tensor)
            key = tensor.untyped_storage()._cdata
            reference, size, old = self._storages[key]
            self._storages[key] = (reference, size, kind)
            self._live[old] -= size
            self._live[kind] += size

    def start(self) -> Step:
        """A step begins; what came since the last one belongs to none."""
        self.step, self.direction = Step(), "forward"
        return self.step

    def turn(self) -> None:
        """The forward pass is over, the backward pass begins."""
        self.direction = "backward"
        self.step.saved = self._live[ACTIVATIONS]
        self.step.forward_moments = len(self.step.moments)

    def __torch_dispatch__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = call(*args, **(kwargs or {}))
        if call.namespace == "prim":  # asks a tensor for its device
            return out
        for each in tensors(out):
            self._adopt(each)
        step = self.step
        step.moments.append((self._live[ACTIVATIONS], self._live[GRADIENTS]))
        if _is_view(call):
            return out
        every = (*args, *(kwargs or {}).values())
        found = costs_of(call.overloadpacket.__name__, every, out)
        shapes = tuple(tuple(each.shape) for each in tensors(list(args))) if found else ()
        for cost in found:
            step.operations.append(Operation(direction=self.direction, cost=cost, shapes=shapes))
        if len(step.moments) > MOST_OPERATIONS:
            raise TooManyOperationsError(f"more than {MOST_OPERATIONS:,} operations in one step")
        return out

    def _adopt(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._storages:
            return
        size = storage.nbytes()
        reference = weakref.ref(storage, lambda _: self._drop(key))
        self._storages[key] = (reference, size, ACTIVATIONS)
        self._live[ACTIVATIONS] += size

    def _drop(self, key: int) -> None:
        _, size, kind = self._storages.pop(key)
        self._live[kind] -= size


def _is_view(call: Any) -> bool:
    """Whether an operation only gives another view on a tensor, which launches nothing."""
    returns = call._schema.returns
    return bool(returns) and all(
        each.alias_info is not None and not each.alias_info.is_write for each in returns
    )
