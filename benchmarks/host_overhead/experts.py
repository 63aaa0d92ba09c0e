"""A routed feed-forward layer as Megatron Core runs it: router, permutation, grouped products."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.host_overhead.kernels import kernel, process_group
from benchmarks.host_overhead.style import FFN, HIDDEN
from benchmarks.host_overhead.transformer_engine import DeviceGuard, Module, trace_range

TOP_K = 2


class Router(nn.Module):
    """Scores, the best experts of each token, a load-balancing loss on the way."""

    def __init__(self, experts: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(experts, HIDDEN) * 0.02)
        self.experts = experts

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        logits = Gating.apply(x, self.weight).view(-1, self.experts)
        scores, chosen = torch.topk(logits, k=TOP_K, dim=1)
        scores = torch.softmax(scores, dim=-1, dtype=torch.float32).type_as(logits)
        probabilities = torch.zeros_like(logits).scatter(1, chosen, scores)
        routed = torch.zeros_like(logits).int().scatter(1, chosen, 1).bool()
        all_scores = torch.softmax(logits, dim=-1, dtype=torch.float32)
        load = routed.sum(dim=0)
        loss = torch.sum(all_scores.mean(dim=0) * load) * 1e-2
        return AttachLoss.apply(probabilities, loss), routed


class Gating(torch.autograd.Function):
    """The router's product in its own format."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        rows = x.view(-1, x.shape[-1])
        return torch.mm(rows.float(), weight.float().t()).view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        flat = grad.view(-1, grad.shape[-1])
        return torch.mm(flat, weight.float()).view_as(x), torch.mm(
            flat.t(), x.view(-1, x.shape[-1])
        )


class AttachLoss(torch.autograd.Function):
    """Carries an auxiliary loss into the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, loss: Tensor) -> Tensor:
        ctx.save_for_backward(loss)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (loss,) = ctx.saved_tensors
        return grad, torch.ones_like(loss)


class AllToAll(torch.autograd.Function):
    """Exchange between expert-parallel ranks; nothing for one rank."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: int) -> Tensor:
        ctx.ranks = ranks
        return _all_to_all(x, ranks)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _all_to_all(grad, ctx.ranks), None


def _all_to_all(x: Tensor, ranks: int) -> Tensor:
    group = process_group(ranks)
    if torch.distributed.get_world_size(group=group) == 1:
        return x
    out = torch.empty_like(x)
    torch.distributed.all_to_all_single(out, x.contiguous(), group=group)
    return out


class Permute(torch.autograd.Function):
    """Rows in the order of their experts (or back): one kernel a pass and a row map."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, routed: Tensor, rows: int) -> Tensor:
        kernel(routed.float())
        ctx.shape = x.shape
        return kernel(torch.empty(rows, x.shape[-1]))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        kernel(grad)
        return torch.empty(ctx.shape), None, None


class GroupedLinear(Module):
    """One product per local expert, launched by one call."""

    def __init__(self, experts: int, inner: int, outer: int) -> None:
        super().__init__()
        self.experts = experts
        for index in range(experts):
            weight = nn.Parameter(torch.randn(outer, inner) * 0.02)
            weight.main_grad = torch.zeros(outer, inner)  # type: ignore[attr-defined]
            self.register_parameter(f"weight{index}", weight)

    def forward(self, x: Tensor, splits: list[int]) -> Tensor:
        device = getattr(self, next(iter(self.named_parameters()))[0]).device
        with DeviceGuard(device), self.prepare_forward(x, self.experts) as ready:
            weights = [getattr(self, f"weight{index}") for index in range(self.experts)]
            result: Tensor = GroupedProduct.apply(ready, splits, torch.is_grad_enabled(), *weights)
            return result


class GroupedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, splits: list[int], keep: bool, *weights: Tensor) -> Tensor:
        parts = torch.split(x.view(-1, x.shape[-1]), splits)
        with trace_range("grouped"):
            out = torch.empty(x.shape[0], weights[0].shape[0])
            for part, weight, into in zip(parts, weights, torch.split(out, splits), strict=True):
                torch.mm(part, weight.t(), out=into)
        if keep:
            ctx.save_for_backward(*parts, *weights)
            ctx.splits = splits
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        count = len(ctx.splits)
        parts, weights = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
        pieces = torch.split(grad.contiguous(), ctx.splits)
        inner = torch.empty(grad.shape[0], weights[0].shape[1])
        for piece, weight, into in zip(
            pieces, weights, torch.split(inner, ctx.splits), strict=True
        ):
            torch.mm(piece, weight, out=into)
        outer = [torch.mm(a.t(), b) for a, b in zip(pieces, parts, strict=True)]
        return (inner, None, None, *outer)


class Norm(Module):
    """A norm that is not fused into a product."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))

    def forward(self, x: Tensor) -> Tensor:
        with self.prepare_forward(x) as ready:
            return torch.nn.functional.layer_norm(ready, (HIDDEN,), self.weight)


class Experts(nn.Module):
    """Norm, router, dispatch, experts, combine."""

    def __init__(self, experts: int, ranks: int) -> None:
        super().__init__()
        self.norm, self.router = Norm(), Router(experts)
        self.up = GroupedLinear(experts, HIDDEN, 2 * FFN)
        self.down = GroupedLinear(experts, FFN, HIDDEN)
        self.experts, self.ranks = experts, 8 if ranks > 1 else 1

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        x = self.norm(x)
        probabilities, routed = self.router(x)
        flat = x.view(-1, HIDDEN)
        routed.sum(dim=0).to("cpu", non_blocking=True)
        rows = flat.shape[0] * TOP_K
        splits = [rows // self.experts] * self.experts
        out = self._experts(self._dispatch(flat, routed, rows), probabilities, routed, splits)
        out = AllToAll.apply(out, self.ranks)
        combined = Permute.apply(out, routed, flat.shape[0])
        return combined.view_as(x), None

    def _dispatch(self, flat: Tensor, routed: Tensor, rows: int) -> Tensor:
        permuted = Permute.apply(flat, routed, rows)
        return AllToAll.apply(permuted, self.ranks)

    def _experts(
        self, x: Tensor, probabilities: Tensor, routed: Tensor, splits: list[int]
    ) -> Tensor:
        gate, up = torch.chunk(self.up(x, splits), 2, -1)
        weights = probabilities.masked_select(routed)
        return self.down(torch.nn.functional.silu(gate) * up * weights.unsqueeze(-1), splits)
