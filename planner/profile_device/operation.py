"""Seconds of one operation of a traced module on a measured device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from planner.profile_device.figures import Figures
from planner.profile_device.relative import (
    Dims,
    Relative,
    batched_rows,
    convolution_rows,
    grouped_seconds,
    relative,
)
from planner.profile_device.traffic import TrafficCurve

KINDS = ("product", "convolution", "attention", "norm", "pointwise")
_BACKWARD = ("input", "weight")
# part of a torch operation's name -> kernel of the profile with the same pattern of reads
_KERNELS = {
    "softmax": "softmax",
    "rms_norm": "rms_norm",
    "norm": "layer_norm",
    "gelu": "gelu",
    "silu": "silu",
    "dropout": "dropout",
    "embedding": "embedding_backward",
    "nll_loss": "cross_entropy_backward",
    "cross_entropy": "cross_entropy_backward",
    "copy": "copy",
}
_PLAIN = "add"  # stands for every other operation that memory bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One kernel call of a module. FLOP and bytes as its tensors' shapes give them."""

    kind: str  # KINDS
    name: str  # of the torch operation
    format: str  # fp32 | tf32 | fp16 | bf16: of what is multiplied or moved
    flops: float  # 0 where memory bounds it
    bytes: float  # read and written
    backward: bool = False
    dims: Dims | None = None  # m, n, k, groups of a product; of a convolution's forward product
    way: str = "forward"  # products.PASSES: of a product, or of a convolution's backward alone
    channels_last: bool = False  # of a convolution
    keys: float = 0.0  # attention: that a query sees on average
    causal: bool = False

    def __post_init__(self) -> None:
        assert self.kind in KINDS, self.kind
        assert self.dims or self.kind not in ("product", "convolution"), self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """What an operation takes, and by which kernel of the profile."""

    seconds: float
    kernel: str
    measured: bool  # the very shape was measured; a curve otherwise


@dataclass(frozen=True, eq=False)
class OperationTimes:
    """Times operations by the figures of one device; what it fits, it fits once."""

    figures: Figures

    def answer(self, operation: Operation) -> Timed | None:
        """Seconds of one call; None where the profile timed nothing that stands for it.

        Never faster than the fastest rate that was measured, nor than the smallest operation.
        Raises PlannerError, field `hardware.profile`, where products of the format are missing.
        """
        found = self._of_kind(operation)
        if found is None:
            return None
        floor = max(self.figures.launch_seconds or 0.0, self._roofline(operation))
        if found.measured and not self.figures.extrapolated:
            return found
        seconds = max(found.seconds, floor)
        return Timed(seconds=seconds, kernel=found.kernel, measured=False)

    def _of_kind(self, operation: Operation) -> Timed | None:
        if operation.kind in ("product", "convolution"):
            layer = self._product if operation.kind == "product" else self._convolution
            found = layer(operation)
            return replace(found, seconds=found.seconds + self._outside_caches(operation))
        if operation.kind == "attention":
            return self._attention(operation)
        return self._traffic(operation)

    def _roofline(self, operation: Operation) -> float:
        """Seconds at the fastest rate that anything of the format reached."""
        return operation.flops / self._fastest[operation.format] if operation.flops else 0.0

    @cached_property
    def _fastest(self) -> dict[str, float]:
        """FLOP/s by format of the fastest product, convolution or attention."""
        found: dict[str, float] = {}
        for row in self.figures.recorded.results:
            found[row.format] = max(found.get(row.format, 1.0), row.flops / row.seconds)
        return found

    def _product(self, operation: Operation) -> Timed:
        assert operation.dims
        curve, (m, n, k, groups) = self.figures.product(operation.format), operation.dims
        if groups == 1:
            known = bool(curve.measured(m, n, k, operation.way))
            seconds = float(curve.seconds(m, n, k, operation.way))
            return Timed(seconds=seconds, kernel="gemm", measured=known)
        batched = self._batched.get(operation.format)
        if batched is None:
            seconds = grouped_seconds(curve, operation.dims, ("forward",))
            return Timed(seconds=seconds, kernel="gemm", measured=False)
        seconds, known = batched.answer(operation.dims)
        return Timed(seconds=seconds, kernel="bmm", measured=known)

    @cached_property
    def _batched(self) -> dict[str, Relative]:
        rows = self.figures.recorded.results
        found = {
            name: relative(curve, batched_rows(rows, name), ("forward",))
            for name, curve in self.figures.products.items()
        }
        return {name: each for name, each in found.items() if each is not None}

    def _convolution(self, operation: Operation) -> Timed:
        assert operation.dims
        kernel = "conv_backward" if operation.backward else "conv"
        layout = "nhwc" if operation.channels_last else "nchw"
        curve = self.figures.product(operation.format)
        alone = (operation.way,) if operation.backward and operation.way in _BACKWARD else None
        comparison = self._convolutions.get((kernel, operation.format, layout))
        if comparison is None:
            ways = alone or (_BACKWARD if operation.backward else ("forward",))
            seconds = grouped_seconds(curve, operation.dims, ways)
            return Timed(seconds=seconds, kernel="gemm", measured=False)
        seconds, known = comparison.answer(operation.dims, alone)
        return Timed(seconds=seconds, kernel=kernel, measured=known)

    def _outside_caches(self, operation: Operation) -> float:
        """Seconds that a layer's weight, or its gradient, adds; a batched product has none."""
        assert operation.dims
        m, n, k, groups = operation.dims
        if operation.kind == "product" and groups > 1:
            return 0.0
        # a convolution's dimensions are those of its forward product, whatever the pass
        by_weight = operation.kind == "product" and operation.way == "weight"
        weight = m * n if by_weight else n * k
        return float(self.figures.cold(operation.format, weight, m * k + k * n + m * n))

    @cached_property
    def _convolutions(self) -> dict[tuple[str, str, str], Relative]:
        """By kernel, format and layout; the backward pass alone, which profiles time together
        with the forward one."""
        rows, found = self.figures.recorded.results, {}
        for name, curve in self.figures.products.items():
            for layout in ("nchw", "nhwc"):
                forward = convolution_rows(rows, "conv", name, layout)
                both = dict(convolution_rows(rows, "conv_backward", name, layout))
                backward = [
                    (dims, both[dims] - seconds)
                    for dims, seconds in forward
                    if both.get(dims, 0.0) > seconds
                ]
                found["conv", name, layout] = relative(curve, forward, ("forward",))
                found["conv_backward", name, layout] = relative(curve, backward, _BACKWARD)
        return {key: each for key, each in found.items() if each is not None}

    def _attention(self, operation: Operation) -> Timed | None:
        kernel = "sdpa_backward" if operation.backward else "sdpa"
        for causal in (operation.causal, not operation.causal):
            curve = self.figures.attention(
                operation.format, causal=causal, backward=operation.backward
            )
            if curve is not None:
                length = operation.keys * (2 if operation.causal else 1)
                seconds = float(curve.seconds(operation.flops, length))
                return Timed(seconds=seconds, kernel=kernel, measured=False)
        return None

    def _traffic(self, operation: Operation) -> Timed | None:
        found = self._kernel(operation)
        if found is None:
            return None
        kernel, curve = found
        seconds = float(curve.seconds(operation.bytes))
        return Timed(seconds=seconds, kernel=kernel, measured=False)

    def _kernel(self, operation: Operation) -> tuple[str, TrafficCurve] | None:
        """The kernel that stands for a memory-bound operation, else a plain one, else a copy."""
        stem = next((k for part, k in _KERNELS.items() if part in operation.name), _PLAIN)
        names = [f"{stem}_backward", stem] if operation.backward else [stem]
        tried = [(name, operation.format) for name in (*names, _PLAIN)] + [("copy", "fp32")]
        for kernel, number_format in tried:
            curve = self.figures.traffic(kernel, number_format)
            if curve is not None:
                return kernel, curve
        return None
