"""Dense feed-forward networks."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from benchmarks.memory_truth.case import Case
from benchmarks.memory_truth.linear import linear


class _GatedProductKernel(torch.autograd.Function):
    """silu(gate)·up as one kernel: keeps gate and up; writes both gradients over them."""

    @staticmethod
    def forward(ctx, gate, up):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(gate, up)
        return torch.empty_like(gate)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        gate, up = ctx.saved_tensors
        return gate.detach(), up.detach()


def gelu_composed(x: torch.Tensor) -> torch.Tensor:
    """The tanh form of GELU from separate operations (Hugging Face's `gelu_new`)."""
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3.0))))


def gated_product(kind: str, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The activation of a gated network, composed or as one kernel."""
    if kind == "swiglu-fused":
        return _GatedProductKernel.apply(gate, up)
    return functional.silu(gate) * up


class GatedFeedForward(nn.Module):
    """down(silu(gate(x))·up(x))."""

    def __init__(self, case: Case, width: int) -> None:
        super().__init__()
        self.kind = case.mlp_kind
        self.gate = linear(case, "gate", case.hidden, width)
        self.up = linear(case, "up", case.hidden, width)
        self.down = linear(case, "down", width, case.hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(gated_product(self.kind, self.gate(x), self.up(x)))


class PlainFeedForward(nn.Module):
    """down(gelu(up(x)))."""

    def __init__(self, case: Case, width: int) -> None:
        super().__init__()
        self.activation = gelu_composed if case.mlp_kind == "gelu-composed" else functional.gelu
        self.up = linear(case, "up", case.hidden, width)
        self.down = linear(case, "down", width, case.hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.activation(self.up(x)))


def feed_forward(case: Case, width: int) -> nn.Module:
    """The dense network of this case, `width` elements wide."""
    gated = case.mlp_kind.startswith("swiglu")
    return GatedFeedForward(case, width) if gated else PlainFeedForward(case, width)
