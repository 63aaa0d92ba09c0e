"""Normalisation as the trainers write it: composed of operations, or one kernel."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

EPSILON = 1e-6


class ComposedRMSNorm(nn.Module):
    """Root-mean-square norm of separate operations, in FP32 inside, as in Hugging Face models."""

    def __init__(self, width: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, dtype=dtype))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPSILON)
        return self.weight * wide.to(x.dtype)


class _RMSNormKernel(torch.autograd.Function):
    """Allocates what one fused kernel allocates: the output; keeps input, weight, FP32 1/rms.

    The CPU build decomposes `aten::_fused_rms_norm` into operations, so the kernel that a GPU
    runs (same saved tensors in torch's derivative table) is stood in for by its allocations.
    """

    @staticmethod
    def forward(ctx, x, weight):  # type: ignore[no-untyped-def]
        reciprocal = x.new_empty((*x.shape[:-1], 1), dtype=torch.float32)
        ctx.save_for_backward(x, weight, reciprocal)
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        x, weight, _ = ctx.saved_tensors
        grad_weight = torch.empty_like(weight) if ctx.needs_input_grad[1] else None
        return torch.empty_like(x), grad_weight


class FusedRMSNorm(nn.Module):
    """Root-mean-square norm as one kernel (`torch.nn.functional.rms_norm` on a GPU)."""

    def __init__(self, width: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, dtype=dtype))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _RMSNormKernel.apply(x, self.weight)


class LayerNorm(nn.Module):
    """torch's own layer norm, which is one kernel on every device."""

    def __init__(self, width: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(width, dtype=dtype))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, self.weight.shape, self.weight, self.bias, EPSILON)


KINDS = {"rmsnorm-eager": ComposedRMSNorm, "rmsnorm-fused": FusedRMSNorm, "layernorm": LayerNorm}
