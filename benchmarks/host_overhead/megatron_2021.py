"""A GPT layer as Megatron-LM ran it in 2021: eager, plain attention, Python autograd functions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.host_overhead.megatron_2021_functions import (
    RANDOM,
    BiasGelu,
    CausalSoftmax,
    Checkpoint,
    CopyToRegion,
    LayerNorm,
    ReduceFromRegion,
    scripted,
)
from benchmarks.host_overhead.style import BATCH, FFN, HEAD_DIM, HEADS, HIDDEN, SEQUENCE, Tower

DROPOUT = 0.1


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))
        self.bias = nn.Parameter(torch.zeros(HIDDEN))
        self.shape = torch.Size((HIDDEN,))

    def forward(self, x: Tensor) -> Tensor:
        return LayerNorm.apply(x, self.weight, self.bias, self.shape, 1e-5)


class ColumnLinear(nn.Module):
    """Splits the output features; leaves the bias to a later fused function if asked."""

    def __init__(self, inner: int, outer: int, ranks: int, skip_bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outer, inner) * 0.02)
        self.bias = nn.Parameter(torch.zeros(outer))
        self.ranks, self.skip_bias = ranks, skip_bias

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        bias = self.bias if not self.skip_bias else None
        x = CopyToRegion.apply(x, self.ranks)
        out = functional.linear(x, self.weight, bias)
        return out, self.bias if self.skip_bias else None


class RowLinear(nn.Module):
    """Splits the input features, reduces the output, hands the bias on."""

    def __init__(self, inner: int, outer: int, ranks: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outer, inner) * 0.02)
        self.bias = nn.Parameter(torch.zeros(outer))
        self.ranks = ranks

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        partial = functional.linear(x, self.weight)
        return ReduceFromRegion.apply(partial, self.ranks), self.bias


class Softmax(nn.Module):
    """Chooses the fused kernel by shape, as the original does in each call."""

    def forward(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        b, heads, queries, keys = scores.size()
        if not (queries == keys and b * heads > 0 and keys <= 2048 and scores.dim() == 4):
            raise ValueError(f"no fused softmax for {tuple(scores.shape)}")
        flat = scores.view(-1, queries, keys)
        return CausalSoftmax.apply(flat, 1.0).view(b, heads, queries, keys)


class Attention(nn.Module):
    def __init__(self, ranks: int) -> None:
        super().__init__()
        width = HEADS * HEAD_DIM
        self.qkv = ColumnLinear(HIDDEN, 3 * width, ranks, False)
        self.softmax = Softmax()
        self.dropout = DROPOUT
        self.dense = RowLinear(width, HIDDEN, ranks)

    def forward(self, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        mixed, _ = self.qkv(x)
        mixed = mixed.view(*mixed.size()[:-1], HEADS, 3 * HEAD_DIM)
        query, key, value = torch.split(mixed, HEAD_DIM, dim=mixed.dim() - 1)
        context = self._mix(query, key, value, mask)
        context = context.permute(2, 0, 1, 3).contiguous()
        context = context.view(*context.size()[:-2], HEADS * HEAD_DIM)
        return self.dense(context)

    def _mix(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        size = (query.size(1), query.size(2), query.size(0), key.size(0))
        query = query.reshape(size[2], size[0] * size[1], -1)
        key = key.reshape(size[3], size[0] * size[1], -1)
        scores = torch.empty(size[0] * size[1], size[2], size[3], dtype=query.dtype)
        scores = torch.baddbmm(
            scores, query.transpose(0, 1), key.transpose(0, 1).transpose(1, 2), beta=0.0, alpha=0.3
        )
        probabilities = self.softmax(scores.view(*size), mask)
        with RANDOM.fork():
            probabilities = torch.native_dropout(probabilities, self.dropout, True)[0]
        value = value.reshape(value.size(0), size[0] * size[1], -1)
        flat = probabilities.view(size[0] * size[1], size[2], -1)
        return torch.bmm(flat, value.transpose(0, 1)).view(*size[:3], value.size(-1))


class FeedForward(nn.Module):
    def __init__(self, ranks: int) -> None:
        super().__init__()
        self.up = ColumnLinear(HIDDEN, FFN, ranks, True)
        self.down = RowLinear(FFN, HIDDEN, ranks)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        middle, bias = self.up(x)
        return self.down(BiasGelu.apply(middle, bias))


class Layer(nn.Module):
    def __init__(self, ranks: int) -> None:
        super().__init__()
        self.first, self.second = Norm(), Norm()
        self.attention, self.mlp = Attention(ranks), FeedForward(ranks)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        out, bias = self.attention(self.first(x), mask)
        x = self._join(out, bias, x)
        out, bias = self.mlp(self.second(x))
        return self._join(out, bias, x)

    def _join(self, out: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
        with torch.enable_grad():
            return scripted("bias_dropout_add")(out, bias.expand_as(residual), residual, DROPOUT)


def accumulate_in_main_gradients(parameters: tuple[Tensor, ...]) -> list[Any]:
    """A hook on each gradient accumulator that adds to a main gradient, as the local DDP does."""
    return [_hook(parameter) for parameter in parameters]


def _hook(parameter: Tensor) -> Any:
    main = torch.zeros_like(parameter)
    accumulator = parameter.expand_as(parameter).grad_fn.next_functions[0][0]  # type: ignore[union-attr]

    def add(*_: Any) -> None:
        if parameter.grad is not None:
            main.add_(parameter.grad.data)
            parameter.grad = None

    accumulator.register_hook(add)
    return accumulator


def build(ranks: int, layers: int, recompute: bool) -> Tower:
    """A stack of layers on `ranks` tensor-parallel ranks."""
    modules = nn.ModuleList(Layer(ranks) for _ in range(layers))
    parameters = tuple(modules.parameters())
    accumulators = accumulate_in_main_gradients(parameters)

    def forward() -> Tensor:
        assert len(accumulators) == len(parameters)  # kept alive with their hooks
        x = torch.zeros(SEQUENCE, BATCH, HIDDEN, requires_grad=True)
        for module in modules:
            x = Checkpoint.apply(module, x) if recompute else module(x)
        return x

    return Tower(forward=forward, parameters=parameters)
