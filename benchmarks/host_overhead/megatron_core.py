"""A Llama-shaped layer as Megatron Core runs it on Transformer Engine modules, dense or routed."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.host_overhead.experts import Experts
from benchmarks.host_overhead.kernels import kernel
from benchmarks.host_overhead.megatron_2021 import accumulate_in_main_gradients
from benchmarks.host_overhead.megatron_2021_functions import Checkpoint
from benchmarks.host_overhead.style import BATCH, FFN, HEAD_DIM, HEADS, HIDDEN, SEQUENCE, Tower
from benchmarks.host_overhead.transformer_engine import DotProductAttention, Linear


class Rotary(torch.autograd.Function):
    """Rotary embedding as one fused kernel a pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, angles: Tensor) -> Tensor:
        ctx.save_for_backward(angles)
        return kernel(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        ctx.saved_tensors  # noqa: B018 - unpacked as the original does
        return kernel(grad), None


class SwiGLU(torch.autograd.Function):
    """Gated activation; the original's scripted kernel, one launch a pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        gate, up = torch.chunk(x, 2, -1)
        return gate * up

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        gate, up = torch.chunk(x, 2, -1)
        return torch.cat((grad * up, grad * gate), -1)


class SplitHeads(torch.autograd.Function):
    """Splits the joint projection into views; joins the gradients again."""

    @staticmethod
    def forward(ctx: Any, mixed: Tensor, sizes: list[int]) -> tuple[Tensor, ...]:
        return torch.split(mixed, sizes, dim=-1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return torch.cat(grads, dim=-1), None


class Attention(nn.Module):
    def __init__(self, ranks: int) -> None:
        super().__init__()
        width = HEADS * HEAD_DIM
        self.qkv = Linear(HIDDEN, 3 * width, norm=True, mode="column", ranks=ranks)
        self.core = DotProductAttention()
        self.proj = Linear(width, HIDDEN, norm=False, mode="row", ranks=ranks)

    def forward(self, x: Tensor, angles: Tensor) -> tuple[Tensor, None]:
        mixed, _ = self.qkv(x)
        mixed = mixed.view(*mixed.size()[:-1], HEADS, 3 * HEAD_DIM)
        query, key, value = SplitHeads.apply(mixed, [HEAD_DIM] * 3)
        query = query.reshape(query.size(0), query.size(1), -1, HEAD_DIM)
        query, key = Rotary.apply(query, angles), Rotary.apply(key, angles)
        result: tuple[Tensor, None] = self.proj(self.core(query, key, value))
        return result


class FeedForward(nn.Module):
    def __init__(self, ranks: int) -> None:
        super().__init__()
        self.up = Linear(HIDDEN, 2 * FFN, norm=True, mode="column", ranks=ranks)
        self.down = Linear(FFN, HIDDEN, norm=False, mode="row", ranks=ranks)

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        middle, _ = self.up(x)
        shape = middle.shape
        middle = SwiGLU.apply(middle.view(-1, shape[-1]))
        result: tuple[Tensor, None] = self.down(middle.view(*shape[:-1], -1))
        return result


class Layer(nn.Module):
    def __init__(self, ranks: int, experts: int) -> None:
        super().__init__()
        self.attention = Attention(ranks)
        self.mlp = Experts(experts, ranks) if experts else FeedForward(ranks)

    def forward(self, x: Tensor, angles: Tensor) -> Tensor:
        out, _ = self.attention(x, angles)
        x = _join(out, x)
        out, _ = self.mlp(x)
        return _viewless(_join(out, x))


def _join(out: Tensor, residual: Tensor) -> Tensor:
    with torch.enable_grad(), nullcontext():
        return residual + out


def _viewless(x: Tensor) -> Tensor:
    """The original makes sure that a layer's output is not a view, which keeps memory alive."""
    return x if x._base is None else x.clone()


def build(ranks: int, experts: int, layers: int, recompute: bool) -> Tower:
    """A stack of layers on `ranks` tensor-parallel ranks with `experts` local experts; 0: dense."""
    modules = nn.ModuleList(Layer(ranks, experts) for _ in range(layers))
    parameters = tuple(modules.parameters())
    accumulators = accumulate_in_main_gradients(parameters)
    angles = torch.zeros(SEQUENCE, HEAD_DIM)

    def forward() -> Tensor:
        assert len(accumulators) == len(parameters)  # kept alive with their hooks
        x = torch.zeros(SEQUENCE, BATCH, HIDDEN, requires_grad=True)
        for module in modules:
            x = Checkpoint.apply(module, x, angles) if recompute else module(x, angles)
        return x

    return Tower(forward=forward, parameters=parameters)
