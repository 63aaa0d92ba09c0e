"""The operation table of a traced module: what one step does, as quantities a + b·batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

Affine = tuple[float, float]  # (a, b): a + b·samples

# training precision -> format of the trace that stands for it
TRACED_AS = {
    "fp32": "fp32",
    "tf32": "fp32",
    "bf16": "mixed",
    "fp16": "mixed",
    "pure-bf16": "pure-bf16",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Equal operations of one step, `count` of them. FLOP and bytes are of one."""

    name: str
    kind: str  # product | convolution | attention | norm | pointwise
    direction: str  # forward | backward
    shapes: str  # of what it reads, the batch as b
    flops: Affine
    bytes: Affine
    kernels: int
    width: int  # bytes per element of what is multiplied, 0 where nothing is
    dims: tuple[Affine, ...] | None  # m, n, k, groups of a product; a convolution as its product
    head_dim: int  # attention
    keys: int  # attention: keys that a query sees on average
    channels_last: bool  # convolution: how its images lie in memory
    count: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Work:
    """One step in one format, with or without recomputation."""

    rows: tuple[Row, ...]
    moments: Array  # (k, 3): a, b of activations' bytes and bytes of gradients, where highest
    saved: Affine  # bytes that the forward pass leaves for the backward pass

    @cached_property
    def flops(self) -> Affine:
        """FLOP of all products."""
        return self._sum("flops")

    def of(self, kind: str, name: str = "flops", *, channels_last: bool | None = None) -> Affine:
        """FLOP or bytes of one kind of operations, of convolutions also of one memory layout."""
        return self._sum(name, kind, channels_last)

    def _sum(self, name: str, kind: str | None = None, channels_last: bool | None = None) -> Affine:
        rows = [
            row
            for row in self.rows
            if kind in (None, row.kind) and channels_last in (None, row.channels_last)
        ]
        pairs = [(getattr(row, name), row.count) for row in rows]
        return sum(a * n for (a, _), n in pairs), sum(b * n for (_, b), n in pairs)

    @cached_property
    def totals(self) -> dict[str, Affine]:
        """What step time needs, once."""
        kinds = ("product", "norm", "pointwise")
        return {f"{kind}_bytes": self.of(kind, "bytes") for kind in kinds} | {
            "product_flops": self.of("product"),
            "convolution_flops": self.of("convolution"),
            "channels_last_bytes": self.of("convolution", "bytes", channels_last=True),
            "channels_first_bytes": self.of("convolution", "bytes", channels_last=False),
        }

    @cached_property
    def attention(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.kind == "attention")

    @cached_property
    def kernels(self) -> dict[str, float]:
        """Kernel launches by direction, and those that a compiler leaves."""
        found = {"forward": 0.0, "backward": 0.0, "compiled": 0.0}
        for row in self.rows:
            found[row.direction] += row.kernels * row.count
            found["compiled"] += row.kernels * row.count * (row.kind != "pointwise")
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A traced module. Parameters and buffers count once however often they are used."""

    input_shape: tuple[int, ...] | None  # of one sample; None where the file makes its batches
    params: int
    trainable: int
    tensors: int  # parameters as tensors
    largest: int  # parameters of the largest tensor
    buffer_bytes: int
    units: int  # parts that sharding gathers and recomputation repeats as one
    unit: int  # parameters of the largest
    torch: str  # version that traced it
    works: Mapping[tuple[str, str], Work]  # by format of the trace and recomputation

    def work(self, precision: str, recompute: str = "none") -> Work:
        """The step under a training precision. KeyError where it was not traced."""
        return self.works[TRACED_AS[precision], recompute]

    def has(self, precision: str) -> bool:
        """Whether the module was traced in the format of this training precision."""
        return (TRACED_AS.get(precision, ""), "none") in self.works

    def flops_per_sample(self, precision: str) -> float:
        """FLOP of the products of forward and backward pass, without recomputation."""
        return self.work(precision).flops[1]
