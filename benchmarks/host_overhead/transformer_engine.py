"""Modules with the host work of NVIDIA's Transformer Engine in 16-bit training.

Long Python forwards around few kernels: context managers, checks of FP8 metadata that find nothing,
some forty arguments into one autograd function, attributes saved on its context.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.host_overhead.kernels import kernel, process_group


class Fp8State:
    """Global switches that every module asks in every call."""

    enabled = False
    calibrating = False
    parameters = False
    first_microbatch: bool | None = None

    @classmethod
    def is_enabled(cls) -> bool:
        return cls.enabled

    @classmethod
    def is_calibrating(cls) -> bool:
        return cls.calibrating

    @classmethod
    def with_parameters(cls) -> bool:
        return cls.parameters


@contextmanager
def trace_range(name: str) -> Iterator[None]:
    """A named range for a profiler, off unless an environment variable asks for it."""
    if int(os.getenv("FORERUN_TRACE_RANGES", "0")):
        torch.autograd.profiler.record_function(name)
    yield


class DeviceGuard:
    """Makes a device the current one and the previous one again, as `torch.cuda.device` does."""

    def __init__(self, device: torch.device) -> None:
        self.index, self.previous = device.index or 0, -1

    def __enter__(self) -> None:
        self.previous = torch.cpu.current_device() and self.index

    def __exit__(self, *_: object) -> None:
        self.index = self.previous


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearCall:
    """What a module hands to its autograd function besides tensors."""

    eps: float
    first_microbatch: bool | None
    fp8: bool
    calibrating: bool
    fuse_weight_gradient: bool
    offload: bool
    group: Any
    group_size: int
    sequence_parallel: bool
    tensor_parallel: bool
    activation_dtype: torch.dtype
    parallel_mode: str | None
    return_norm_output: bool
    norm: bool
    grad_enabled: bool
    name: str
    overlaps: tuple[bool, ...]
    quantizers: tuple[Any, ...]


class FusedLinear(torch.autograd.Function):
    """Norm and product, or a product alone, as one function."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, gain: Tensor | None, weight: Tensor, call: LinearCall
    ) -> Tensor:
        shape = x.shape
        rows = x.reshape(-1, shape[-1])
        assert rows.shape[-1] == weight.shape[1], "dimensions do not match"
        normed = kernel(rows, extra_outputs=1) if call.norm else rows
        with trace_range(call.name + ".gemm"):
            out = _product(normed, weight.t(), call)
        if call.grad_enabled:
            _keep(ctx, x, gain, weight, normed if call.norm else None, call)
        return out.view(-1, *shape[1:-1], out.shape[-1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        call: LinearCall = ctx.call
        x, gain, weight, normed = ctx.saved_tensors
        with trace_range(call.name + ".backward"):
            flat = grad.contiguous().view(-1, grad.shape[-1])
            rows = (normed if normed is not None else x).reshape(-1, weight.shape[1])
            inner = _product(flat, weight, call)
            _product(flat.t(), rows, call, out=ctx.main_gradient)
            dummy = torch.empty(weight.shape, dtype=weight.dtype)
            gain_grad = None
            if call.norm:
                inner = kernel(inner, extra_outputs=2)
                gain_grad = torch.empty_like(gain)
        return inner.view(ctx.shape), gain_grad, dummy, None


def _product(a: Tensor, b: Tensor, call: LinearCall, out: Tensor | None = None) -> Tensor:
    """The wrapper around a library product: alignment, formats, workspace, quantizers."""
    assert a.dtype == b.dtype, "formats differ"
    for quantizer in call.quantizers:
        if quantizer is not None:
            raise NotImplementedError(quantizer)
    arguments = (a, b, call.activation_dtype, out, call.overlaps, out is not None, call.fp8)
    return torch.mm(arguments[0], arguments[1])


def _keep(
    ctx: Any,
    x: Tensor,
    gain: Tensor | None,
    weight: Tensor,
    normed: Tensor | None,
    call: LinearCall,
) -> None:
    ctx.save_for_backward(x, gain, weight, normed)
    ctx.call, ctx.shape = call, x.shape
    ctx.main_gradient = getattr(weight, "main_grad", None)
    for item in fields(call):
        setattr(ctx, item.name, getattr(call, item.name))
    ctx.requires_dgrad, ctx.requires_wgrad = x.requires_grad, weight.requires_grad
    ctx.reduce_amax = call.fp8 and Fp8State.is_enabled()


class Module(nn.Module):
    """The base of every module: it prepares each forward."""

    def __init__(self) -> None:
        super().__init__()
        self.fp8, self.fp8_initialized, self.fp8_calibration = False, False, False
        self.fp8_meta: dict[str, Any] = {"recipe": None}
        self.activation_dtype = torch.float32
        self.group, self.group_size = None, 1

    @contextmanager
    def prepare_forward(self, x: Tensor, products: int = 1) -> Iterator[Tensor]:
        assert x.is_cpu
        if self.group_size > 1 and self.group is None:
            raise ValueError("tensor-parallel group not set")
        if not torch.is_autocast_enabled() and self.activation_dtype != x.dtype:
            self.activation_dtype = x.dtype
        self._fp8_metadata(products)
        with trace_range(type(self).__name__ + " forward"):
            yield x.contiguous()

    def _fp8_metadata(self, products: int) -> None:
        self.fp8_parameters = Fp8State.with_parameters()
        self.fp8 = Fp8State.is_enabled()
        self.fp8_calibration = Fp8State.is_calibrating()
        self.fp8_meta["fp8_checkpoint"] = self.fp8 or self.fp8_calibration
        self.fp8_meta["num_gemms"] = products
        if not (self.fp8 or self.fp8_calibration or self.fp8_parameters):
            self.fp8_initialized = False


class Linear(Module):
    """A linear layer, with its norm in front where it has a gain."""

    def __init__(self, inner: int, outer: int, *, norm: bool, mode: str, ranks: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outer, inner) * 0.02)
        self.weight.main_grad = torch.zeros(outer, inner)  # type: ignore[attr-defined]
        self.gain = nn.Parameter(torch.ones(inner)) if norm else None
        self.mode, self.ranks, self.name = mode, ranks, f"linear.{mode}"

    def forward(self, x: Tensor, first: bool | None = None) -> tuple[Tensor, None]:
        first = Fp8State.first_microbatch if first is None else first
        device = getattr(self, next(iter(self.named_parameters()))[0]).device
        with DeviceGuard(device), self.prepare_forward(x) as ready:
            weight = getattr(self, "weight")  # noqa: B009 - by name, as the original gathers them
            call = self._call(first)
            out = FusedLinear.apply(self._gather(ready), self.gain, weight, call)
        return self._scatter(out), None

    def _gather(self, x: Tensor) -> Tensor:
        return SequenceExchange.apply(x, self.ranks) if self._exchanges("column") else x

    def _scatter(self, x: Tensor) -> Tensor:
        return SequenceExchange.apply(x, self.ranks) if self._exchanges("row") else x

    def _exchanges(self, mode: str) -> bool:
        return self.ranks > 1 and self.mode == mode

    def _call(self, first: bool | None) -> LinearCall:
        return LinearCall(
            eps=1e-5,
            first_microbatch=first,
            fp8=self.fp8,
            calibrating=self.fp8_calibration,
            fuse_weight_gradient=True,
            offload=False,
            group=self.group,
            group_size=self.group_size,
            sequence_parallel=self.ranks > 1,
            tensor_parallel=self.ranks > 1,
            activation_dtype=self.activation_dtype,
            parallel_mode=self.mode,
            return_norm_output=False,
            norm=self.gain is not None,
            grad_enabled=torch.is_grad_enabled(),
            name=self.name,
            overlaps=(False,) * 6,
            quantizers=(None,) * 6,
        )


class SequenceExchange(torch.autograd.Function):
    """Gather or scatter of the sequence over tensor-parallel ranks; one collective a pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: int) -> Tensor:
        ctx.ranks = ranks
        return _exchange(x, ranks)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _exchange(grad, ctx.ranks), None


def _exchange(x: Tensor, ranks: int) -> Tensor:
    group = process_group(ranks)
    out = torch.empty_like(x)
    torch.distributed.all_reduce(out, group=group)
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionChoice:
    """What decides the attention kernel; compared with the last call's in every call."""

    dtype: torch.dtype
    layout: str
    batch: int
    heads: int
    groups: int
    queries: int
    keys: int
    head_dim_qk: int
    head_dim_v: int
    mask: str
    window: tuple[int, int]
    alibi: bool
    bias: str
    bias_shape: str
    needs_gradient: bool
    pad_between: bool
    dropout: float
    context_parallel: bool
    deterministic: bool
    training: bool
    fp8: bool
    inference: bool


class FusedAttention(torch.autograd.Function):
    """Flash or cuDNN attention: one kernel forward, two backward."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, choice: AttentionChoice) -> Tensor:
        q, k, v = (each.contiguous() for each in (q, k, v))
        out = kernel(q, extra_outputs=2)
        ctx.save_for_backward(q, k, v, out)
        for item in fields(choice):
            setattr(ctx, item.name, getattr(choice, item.name))
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        _, k, v, out = ctx.saved_tensors
        kernel(out)
        grad = grad.contiguous()
        return kernel(grad, extra_outputs=1), torch.empty_like(k), torch.empty_like(v), None


class DotProductAttention(Module):
    """Chooses the layout and the kernel in Python, then calls it."""

    last: AttentionChoice | None = None

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        with DeviceGuard(q.device), self.prepare_forward(q):
            assert all(each.is_cpu for each in (q, k, v)), "tensors off the device"
            assert q.dtype == k.dtype == v.dtype, "formats differ"
            choice = self._choice(q, k, v, layout(q, k, v))
            if DotProductAttention.last != choice:
                DotProductAttention.last = choice
            out: Tensor = FusedAttention.apply(q, k, v, choice)
            return out.view(*out.shape[:-2], -1)

    def _choice(self, q: Tensor, k: Tensor, v: Tensor, found: str) -> AttentionChoice:
        return AttentionChoice(
            dtype=q.dtype,
            layout=found,
            batch=q.shape[1],
            heads=q.shape[-2],
            groups=k.shape[-2],
            queries=q.shape[0],
            keys=k.shape[0],
            head_dim_qk=q.shape[-1],
            head_dim_v=v.shape[-1],
            mask="causal",
            window=(-1, 0),
            alibi=False,
            bias="no_bias",
            bias_shape="1hss",
            needs_gradient=any(each.requires_grad for each in (q, k, v)),
            pad_between=False,
            dropout=0.0,
            context_parallel=False,
            deterministic=bool(int(os.getenv("FORERUN_DETERMINISTIC", "0"))),
            training=self.training,
            fp8=Fp8State.is_enabled(),
            inference=False,
        )


def layout(q: Tensor, k: Tensor, v: Tensor) -> str:
    """How queries, keys and values lie in memory: tried one pattern after the other."""
    together = all(
        each.untyped_storage().data_ptr() == q.untyped_storage().data_ptr() for each in (q, k, v)
    )
    strides = [each.stride() for each in (q, k, v)]
    offsets = [each.storage_offset() for each in (q, k, v)]
    if together and all(each == strides[0] for each in strides):
        gaps = [b - a for a, b in pairwise(offsets)]
        if gaps == [v.shape[-1]] * 2:
            return "sbh3d"
        if gaps == [v.shape[-1] * v.shape[-2]] * 2:
            return "sb3hd"
    if all(each.is_contiguous() for each in (q, k, v)):
        return "sbhd_sbhd_sbhd"
    return "unknown"
