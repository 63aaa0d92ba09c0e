"""A software style: how to build a stack of layers that runs one stack's sequence of host work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

HIDDEN, HEADS, HEAD_DIM, FFN = 16, 2, 8, 32  # so small that a kernel's own work vanishes
SEQUENCE, BATCH = 4, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tower:
    """A stack of layers ready to run."""

    forward: Callable[[], Tensor]  # one forward pass from a fresh input that requires gradients
    parameters: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """One way to run a layer on the host."""

    name: str
    title: str
    build: Callable[[int, bool], Tower]  # number of layers, whether they are recomputed
    recomputes: bool = True  # whether the style knows full recomputation
    synchronises: bool = False  # the host waits for the device inside the layer
    countable: bool = True  # its kernels pass the dispatcher, one by one
    base: str | None = None  # the style that this one adds something to
