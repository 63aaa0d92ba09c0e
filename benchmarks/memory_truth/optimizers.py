"""Optimizer steps as trainers run them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import nn


def build(kind: str, parameters: list[nn.Parameter]) -> list[torch.optim.Optimizer]:
    """The optimizers that together step `parameters`."""
    if kind == "muon":
        matrices = [p for p in parameters if p.ndim == 2]
        others = [p for p in parameters if p.ndim != 2]
        return [torch.optim.Muon(matrices), *([torch.optim.AdamW(others)] if others else [])]
    return [_SINGLE[kind](parameters)]


_SINGLE: dict[str, Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]] = {
    "adamw-foreach": lambda p: torch.optim.AdamW(p, foreach=True),
    "adamw-fused": lambda p: torch.optim.AdamW(p, fused=True),
    "adamw": lambda p: torch.optim.AdamW(p, foreach=False),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, foreach=True),
    "sgd-momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=True),
    "adafactor": lambda p: Adafactor(p),
}


class Adafactor(torch.optim.Optimizer):
    """Adafactor's allocations: factored FP32 second moments, an FP32 update per parameter.

    torch's own reads numbers back to the host, which fake tensors have none of. Shazeer and Stern
    2018, algorithm 4, without momentum; parameters that are not matrices keep a full moment.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        super().__init__(parameters, {"lr": 1e-2, "decay": 0.8, "epsilon": 1e-30})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                self._step_one(parameter, group)

    def _step_one(self, parameter: torch.Tensor, group: dict) -> None:
        grad = parameter.grad.float()
        square = grad.square().add_(group["epsilon"])
        state = self.state[parameter]
        if parameter.ndim < 2:
            moment = state.setdefault("moment", torch.zeros_like(square))
            update = moment.lerp_(square, group["decay"]).rsqrt().mul_(grad)
        else:
            rows = state.setdefault("rows", torch.zeros_like(square[..., 0]))
            columns = state.setdefault("columns", torch.zeros_like(square[..., 0, :]))
            rows.lerp_(square.mean(dim=-1), group["decay"])
            columns.lerp_(square.mean(dim=-2), group["decay"])
            del square
            update = rows.rsqrt()[..., None] * columns.rsqrt()[..., None, :]
            update.mul_(grad)
        parameter.add_(update.to(parameter.dtype), alpha=-group["lr"])


class MasterWeights:
    """FP32 copies of 16-bit weights with FP32 gradients that collect over micro-steps.

    The 16-bit gradient of a weight is added to its FP32 gradient and dropped as soon as it is
    complete, as Megatron's and FSDP's FP32 accumulation do.
    """

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self.parameters = parameters
        self.masters = [nn.Parameter(p.detach().float()) for p in parameters]
        for parameter, master in zip(parameters, self.masters, strict=True):
            master.grad = torch.zeros_like(master)
            parameter.register_post_accumulate_grad_hook(_collector(master))

    def clear(self) -> None:
        for master in self.masters:
            master.grad.zero_()

    def copy_back(self) -> None:
        """16-bit weights from the stepped masters."""
        with torch.no_grad():
            for parameter, master in zip(self.parameters, self.masters, strict=True):
                parameter.copy_(master)


def _collector(master: nn.Parameter) -> Callable[[torch.Tensor], None]:
    def collect(parameter: torch.Tensor) -> None:
        master.grad.add_(parameter.grad)
        parameter.grad = None

    return collect
