"""Mixtures of experts with evenly loaded experts."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from benchmarks.memory_truth.case import Case
from benchmarks.memory_truth.feedforward import feed_forward, gated_product
from benchmarks.memory_truth.linear import WEIGHT_FORMATS, Linear


class Router(nn.Module):
    """FP32 softmax over experts, top k, normalised weights."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.top_k = case.top_k
        self.gate = Linear(case.hidden, case.n_experts, False, WEIGHT_FORMATS[case.precision])

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = functional.softmax(self.gate(x), dim=-1, dtype=torch.float32)
        weights, chosen = torch.topk(scores, self.top_k, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return weights.to(x.dtype), chosen


class GroupedExperts(nn.Module):
    """All experts in three stacked matrices, one batched product each."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        dtype = WEIGHT_FORMATS[case.precision]
        experts, hidden, width = case.n_experts, case.hidden, case.expert_hidden
        self.kind = case.mlp_kind
        self.gate = nn.Parameter(torch.empty(experts, hidden, width, dtype=dtype))
        self.up = nn.Parameter(torch.empty(experts, hidden, width, dtype=dtype))
        self.down = nn.Parameter(torch.empty(experts, width, hidden, dtype=dtype))

    def forward(
        self, x: torch.Tensor, weights: torch.Tensor, order: torch.Tensor, top_k: int
    ) -> torch.Tensor:
        routed = x[order // top_k].unflatten(0, (self.gate.shape[0], -1))
        product = gated_product(self.kind, routed @ self.gate, routed @ self.up)
        out = (product @ self.down).flatten(0, 1) * weights.flatten()[order, None]
        return torch.zeros_like(x).index_add(0, order // top_k, out.to(x.dtype))


class LoopedExperts(nn.Module):
    """One module per expert, visited in turn."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.experts = nn.ModuleList(
            feed_forward(case, case.expert_hidden) for _ in range(case.n_experts)
        )

    def forward(
        self, x: torch.Tensor, weights: torch.Tensor, order: torch.Tensor, top_k: int
    ) -> torch.Tensor:
        total = torch.zeros_like(x)
        for expert, part in zip(self.experts, order.chunk(len(self.experts)), strict=True):
            out = expert(x[part // top_k]) * weights.flatten()[part, None]
            total.index_add_(0, part // top_k, out.to(x.dtype))
        return total


class MixtureOfExperts(nn.Module):
    """Router and experts over the flattened tokens."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.top_k = case.top_k
        self.router = Router(case)
        self.experts = (GroupedExperts if case.experts_as == "grouped" else LoopedExperts)(case)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = x.flatten(0, 1)
        weights, chosen = self.router(tokens)
        order = torch.argsort(chosen.flatten())
        return self.experts(tokens, weights, order, self.top_k).view_as(x)
