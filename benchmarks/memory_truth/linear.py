"""Linear layers, plain or frozen with a low-rank adapter beside them."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from benchmarks.memory_truth.case import Case

WEIGHT_FORMATS = {
    "pure-bf16": torch.bfloat16,
    "bf16-master": torch.bfloat16,
    "bf16-autocast": torch.float32,
    "fp32": torch.float32,
}


class Linear(nn.Module):
    """y = x·Wᵀ (+ b), without drawing initial values."""

    def __init__(self, inputs: int, outputs: int, bias: bool, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(outputs, dtype=dtype)) if bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x, self.weight, self.bias)


class AdaptedLinear(nn.Module):
    """A linear layer with a low-rank adapter: y + B·A·x, the input cast to the adapter's format."""

    def __init__(self, base: Linear, rank: int, dtype: torch.dtype) -> None:
        super().__init__()
        outputs, inputs = base.weight.shape
        self.base = base
        self.down = Linear(inputs, rank, False, dtype)
        self.up = Linear(rank, outputs, False, dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result = self.base(x)
        addition = self.up(self.down(x.to(self.down.weight.dtype)))
        return (result + addition * 2.0).to(result.dtype)


def linear(case: Case, role: str, inputs: int, outputs: int) -> nn.Module:
    """The layer that `role` (q, k, v, qkv, o, gate, up, down) needs in this case."""
    base = Linear(inputs, outputs, case.biases, WEIGHT_FORMATS[case.precision])
    if not _is_adapted(case, role):
        return base
    dtype = torch.float32 if case.lora_format == "fp32" else base.weight.dtype
    return AdaptedLinear(base, case.lora_rank, dtype)


def _is_adapted(case: Case, role: str) -> bool:
    if case.task != "lora":
        return False
    return case.lora_targets == "all-linear" or role in ("q", "v")
