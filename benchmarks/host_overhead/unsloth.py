"""A Llama layer with adapters as Unsloth fuses it: few autograd functions, Triton kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.host_overhead.kernels import kernel
from benchmarks.host_overhead.style import BATCH, FFN, HEAD_DIM, HEADS, HIDDEN, SEQUENCE, Tower

RANK, SCALE = 4, 2.0


class Norm(torch.autograd.Function):
    """RMS norm as one Triton kernel a pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor) -> Tensor:
        out = kernel(x.view(-1, x.shape[-1]), extra_outputs=1)
        ctx.save_for_backward(x, gain)
        return out.view(x.shape)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        ctx.saved_tensors  # noqa: B018 - unpacked as the original does
        return kernel(grad.view(-1, grad.shape[-1])).view(grad.shape), None


class Rotary(torch.autograd.Function):
    """Rotary embedding as one Triton kernel a pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return kernel(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return kernel(grad)


def product(x: Tensor, weight: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """A frozen product plus its low-rank branch: three library calls."""
    flat = x.view(-1, x.shape[-1])
    out = torch.mm(flat, weight.t())
    return out.addmm_(torch.mm(flat, a.t()), b.t(), alpha=SCALE).view(*x.shape[:-1], -1)


def gradients(grad: Tensor, x: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of the two low-rank matrices: four products."""
    down = torch.mm(x, a.t())
    return torch.mm(torch.mm(grad, b).t(), x).mul_(SCALE), torch.mm(grad.t(), down).mul_(SCALE)


def input_gradient(into: Tensor, grad: Tensor, weight: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Adds one product's gradient of the input to `into`."""
    into.addmm_(grad, weight)
    return into.addmm_(torch.mm(grad, b), a, alpha=SCALE)


class Products(torch.autograd.Function):
    """Several adapted products of one input in one function; each is weight, a, b."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *triples: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(x, *triples)
        groups = (triples[i : i + 3] for i in range(0, len(triples), 3))
        return tuple(product(x, *group) for group in groups)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        x, *triples = ctx.saved_tensors
        flat, into = x.view(-1, x.shape[-1]), torch.zeros_like(x).view(-1, x.shape[-1])
        out: list[Tensor | None] = []
        for index, grad in enumerate(grads):
            weight, a, b = triples[3 * index : 3 * index + 3]
            rows = grad.reshape(-1, grad.shape[-1])
            out += [None, *gradients(rows, flat, a, b)]
            input_gradient(into, rows, weight, a, b)
        return (into.view_as(x), *out)


class GatedProducts(torch.autograd.Function):
    """Gate, up, SwiGLU and down in one function."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *triples: Tensor) -> Tensor:
        gate, up = product(x, *triples[:3]), product(x, *triples[3:6])
        middle = kernel(gate)
        ctx.save_for_backward(x, gate, up, *triples)
        return product(middle, *triples[6:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, gate, _, *triples = ctx.saved_tensors
        rows, flat = grad.reshape(-1, grad.shape[-1]), x.view(-1, x.shape[-1])
        inner = torch.zeros(rows.shape[0], gate.shape[-1], dtype=x.dtype)
        input_gradient(inner, rows, *triples[6:])
        middle = kernel(gate, extra_outputs=2).view(-1, gate.shape[-1])
        out: list[Tensor | None] = []
        into = torch.zeros_like(flat)
        for weight, a, b in (triples[:3], triples[3:6]):
            out += [None, *gradients(inner, flat, a, b)]
            input_gradient(into, inner, weight, a, b)
        out += [None, *gradients(rows, middle, *triples[7:])]
        return (into.view_as(x), *out)


class Checkpoint(torch.autograd.Function):
    """Recomputation that keeps its input in host memory."""

    @staticmethod
    def forward(ctx: Any, run: Any, x: Tensor) -> Tensor:
        ctx.run = run
        with torch.no_grad():
            out = run(x)
        ctx.save_for_backward(x.to("cpu", non_blocking=True, copy=True))
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (kept,) = ctx.saved_tensors
        x = kept.to("cpu", non_blocking=True, copy=True).detach()
        x.requires_grad_(True)
        with torch.enable_grad():
            out = ctx.run(x)
        torch.autograd.backward(out, grad)
        return None, x.grad


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.ones(HIDDEN), requires_grad=False)
        self.second = nn.Parameter(torch.ones(HIDDEN), requires_grad=False)
        self.qkv = _adapted((HIDDEN, HEADS * HEAD_DIM), 3)
        self.out = _adapted((HEADS * HEAD_DIM, HIDDEN), 1)
        self.mlp = _adapted((HIDDEN, FFN), 2).extend(_adapted((FFN, HIDDEN), 1))

    def forward(self, x: Tensor) -> Tensor:
        heads = Products.apply(Norm.apply(x, self.first), *self.qkv)
        query, key, value = (
            each.view(BATCH, SEQUENCE, HEADS, HEAD_DIM).transpose(1, 2) for each in heads
        )
        query, key = Rotary.apply(query), Rotary.apply(key)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        mixed = mixed.transpose(1, 2).contiguous().view(BATCH, SEQUENCE, -1)
        x = x + Products.apply(mixed, *self.out)[0]
        return x + GatedProducts.apply(Norm.apply(x, self.second), *self.mlp)


def _adapted(shape: tuple[int, int], count: int) -> nn.ParameterList:
    inner, outer = shape
    made = nn.ParameterList()
    for _ in range(count):
        made.append(nn.Parameter(torch.randn(outer, inner) * 0.02, requires_grad=False))
        made.append(nn.Parameter(torch.randn(RANK, inner) * 0.02))
        made.append(nn.Parameter(torch.zeros(outer, RANK)))
    return made


def build(layers: int, recompute: bool) -> Tower:
    """A stack of layers; recomputation always keeps inputs in host memory."""
    modules = nn.ModuleList(Layer() for _ in range(layers)).to(torch.bfloat16)

    def forward() -> Tensor:
        x = torch.zeros(BATCH, SEQUENCE, HIDDEN, dtype=torch.bfloat16, requires_grad=True)
        for module in modules:
            x = Checkpoint.apply(module, x) if recompute else module(x)
        return x

    trainable = tuple(each for each in modules.parameters() if each.requires_grad)
    return Tower(forward=forward, parameters=trainable)
