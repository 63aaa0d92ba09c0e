"""The autograd functions, scripted functions and random states of a 2021 Megatron layer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from benchmarks.host_overhead.kernels import (
    device_random_state,
    process_group,
    set_device_random_state,
)


class LayerNorm(torch.autograd.Function):
    """Layer norm as an extension kernel behind a Python function."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, shape: Any, eps: float
    ) -> Tensor:
        ctx.shape, ctx.eps = shape, eps
        x, weight, bias = x.contiguous(), weight.contiguous(), bias.contiguous()
        out, mean, inverse = torch.native_layer_norm(x, shape, weight, bias, eps)
        ctx.save_for_backward(x, weight, bias, mean, inverse)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, weight, bias, mean, inverse = ctx.saved_tensors
        grads = torch.ops.aten.native_layer_norm_backward(
            grad.contiguous(), x, ctx.shape, mean, inverse, weight, bias, [True, True, True]
        )
        return (*grads, None, None)


def reduce_over(x: Tensor, ranks: int) -> Tensor:
    """All-reduce over the tensor-parallel group; nothing for one rank."""
    group = process_group(ranks)
    if dist.get_world_size(group=group) == 1:
        return x
    dist.all_reduce(x, group=group)
    return x


class CopyToRegion(torch.autograd.Function):
    """Identity whose backward pass reduces."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: int) -> Tensor:
        ctx.ranks = ranks
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return reduce_over(grad, ctx.ranks), None


class ReduceFromRegion(torch.autograd.Function):
    """Reduction whose backward pass is the identity."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: int) -> Tensor:
        return reduce_over(x, ranks)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad, None


class CausalSoftmax(torch.autograd.Function):
    """Scale, causal mask and softmax as one extension kernel; the scale travels as a tensor."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, scale: float) -> Tensor:
        factor = torch.tensor([scale])
        probabilities = torch.softmax(scores, -1)
        ctx.save_for_backward(probabilities, factor)
        return probabilities

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        probabilities, factor = ctx.saved_tensors
        factor[0]
        return torch._softmax_backward_data(grad, probabilities, -1, grad.dtype), None


def _bias_gelu(bias: Tensor, x: Tensor) -> Tensor:
    return torch.nn.functional.gelu(x + bias, approximate="tanh")


def _bias_gelu_backward(grad: Tensor, bias: Tensor, x: Tensor) -> Tensor:
    return grad * (x + bias)


def _bias_dropout_add(x: Tensor, bias: Tensor, residual: Tensor, p: float) -> Tensor:
    return residual + torch.native_dropout(x + bias, p, True)[0]


@cache
def scripted(name: str) -> Callable[..., Tensor]:
    """A TorchScript function by name."""
    source = {
        "bias_gelu": _bias_gelu,
        "bias_gelu_backward": _bias_gelu_backward,
        "bias_dropout_add": _bias_dropout_add,
    }[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function: Callable[..., Tensor] = torch.jit.script(source)
    return function


class BiasGelu(torch.autograd.Function):
    """GeLU of a sum with the bias; scripted in both directions."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, bias)
        return scripted("bias_gelu")(bias, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, bias = ctx.saved_tensors
        both = scripted("bias_gelu_backward")(grad, bias, x)
        return both, both


class RandomStates:
    """Named device random states, forked around dropout that must differ between ranks."""

    def __init__(self) -> None:
        self.states = {"model-parallel": device_random_state()}

    def copy(self) -> dict[str, Tensor]:
        return {name: self.states[name] for name in self.states}

    @contextmanager
    def fork(self, name: str = "model-parallel") -> Iterator[None]:
        if name not in self.states:
            raise KeyError(name)
        original = device_random_state()
        set_device_random_state(self.states[name])
        try:
            yield
        finally:
            self.states[name] = device_random_state()
            set_device_random_state(original)


RANDOM = RandomStates()


class Checkpoint(torch.autograd.Function):
    """Full recomputation that brings back host, device and named random states."""

    @staticmethod
    def forward(ctx: Any, run: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
        ctx.run = run
        ctx.host, ctx.device, ctx.named = (
            torch.get_rng_state(),
            device_random_state(),
            RANDOM.copy(),
        )
        with torch.no_grad():
            out = run(*inputs)
        ctx.save_for_backward(*inputs)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        if not torch.autograd._is_checkpoint_valid():
            raise RuntimeError("recomputation works with backward(), not with grad()")
        inputs = ctx.saved_tensors
        host, device, named = torch.get_rng_state(), device_random_state(), RANDOM.copy()
        _restore(ctx.host, ctx.device, ctx.named)
        detached = tuple(_detach(each) for each in inputs)
        with torch.enable_grad():
            out = ctx.run(*detached)
        _restore(host, device, named)
        torch.autograd.backward((out,), grads)
        return (None, *(each.grad for each in detached))


def _detach(x: Tensor) -> Tensor:
    result = x.detach()
    result.requires_grad = x.requires_grad
    return result


def _restore(host: Tensor, device: Tensor, named: dict[str, Tensor]) -> None:
    torch.set_rng_state(host)
    set_device_random_state(device)
    RANDOM.states = named
