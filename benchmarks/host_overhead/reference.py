"""The unit: a mix of small operations, each recorded by autograd, in the frame of a layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.host_overhead.style import Tower

WIDTH = 16
OPERATIONS = 24  # in one layer


class Layer(nn.Module):
    """Twenty-four different operations.

    Different ones, because a loop over one operation keeps its instructions in the processor's
    closest cache, which no layer does: such a unit shrinks against a layer on a busy machine.
    """

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(WIDTH))
        self.gain = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return self._third(self._second(self._first(x)))

    def _first(self, x: Tensor) -> Tensor:
        x = x * self.gain
        x = torch.tanh(x + self.gain)
        x = torch.mm(x, self.weight)
        x = functional.layer_norm(x, (WIDTH,), self.gain)
        x = torch.sigmoid(x) - self.gain
        return torch.relu(x)

    def _second(self, x: Tensor) -> Tensor:
        x = torch.softmax(x, -1)
        x = functional.linear(x, self.weight)
        x = functional.gelu(x).square()
        x = torch.clamp(x, -1.0, 1.0).exp()
        x = torch.maximum(x, self.gain)
        return x.neg()

    def _third(self, x: Tensor) -> Tensor:
        x = functional.silu(x)
        x = torch.cumsum(x, -1)
        x = x / x.abs().sum(-1, keepdim=True)
        x = functional.softplus(x)
        return torch.rsqrt(x).cos()


def build(layers: int) -> Tower:
    """A stack of such layers."""
    modules = nn.ModuleList(Layer() for _ in range(layers))

    def forward() -> Tensor:
        x = torch.ones(4, WIDTH, requires_grad=True)
        for module in modules:
            x = module(x)
        return x

    return Tower(forward=forward, parameters=tuple(modules.parameters()))
