"""A Llama layer in the style of torchtitan and torchtune: fused norm, complex rotary, SDPA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.host_overhead.style import BATCH, FFN, HEAD_DIM, HEADS, HIDDEN, SEQUENCE, Tower


class Norm(nn.Module):
    """RMS norm; the layer norm's kernel stands for CUDA's fused one, which a CPU lacks."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))

    def forward(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, (HIDDEN,), self.weight)


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Rotary embedding as a product of complex numbers."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * angles).flatten(3).type_as(x)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        width = HEADS * HEAD_DIM
        self.wq, self.wk, self.wv = (nn.Linear(HIDDEN, width, bias=False) for _ in range(3))
        self.wo = nn.Linear(width, HIDDEN, bias=False)

    def forward(self, x: Tensor, angles: Tensor) -> Tensor:
        b, s, _ = x.shape
        heads = [each(x).view(b, s, -1, HEAD_DIM) for each in (self.wq, self.wk, self.wv)]
        query, key = rotate(heads[0], angles), rotate(heads[1], angles)
        query, key, value = (each.transpose(1, 2) for each in (query, key, heads[2]))
        out = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        result: Tensor = self.wo(out.transpose(1, 2).contiguous().view(b, s, -1))
        return result


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1, self.w3 = (nn.Linear(HIDDEN, FFN, bias=False) for _ in range(2))
        self.w2 = nn.Linear(FFN, HIDDEN, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.w2(functional.silu(self.w1(x)) * self.w3(x))
        return result


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention, self.feed_forward = Attention(), FeedForward()
        self.attention_norm, self.ffn_norm = Norm(), Norm()

    def forward(self, x: Tensor, angles: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x), angles)
        result: Tensor = x + self.feed_forward(self.ffn_norm(x))
        return result


def per_operation() -> Any:
    """The contexts of selective recomputation that decides operation by operation."""
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    kept = {
        torch.ops.aten.mm.default,
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
    }
    seen = {"forward": 0, "recompute": 0}

    def policy(ctx: Any, operation: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        mode = "recompute" if ctx.is_recompute else "forward"
        if operation is torch.ops.aten.mm.default:
            seen[mode] += 1
        save = operation in kept and not (
            operation is torch.ops.aten.mm.default and seen[mode] % 2 == 0
        )
        return CheckpointPolicy.MUST_SAVE if save else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


def stack(
    layers: int,
    recompute: bool,
    wrap: Callable[[nn.Module], nn.Module],
    contexts: Callable[[], Any] | None = None,
) -> nn.ModuleList:
    """Layers, recomputed by the checkpoint wrapper if asked, then wrapped."""
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

    options = {"context_fn": contexts} if contexts else {}
    made = nn.ModuleList()
    for _ in range(layers):
        module: nn.Module = Layer()
        module = checkpoint_wrapper(module, **options) if recompute else module
        made.append(wrap(module))
    return made


def tower(modules: nn.ModuleList, root: nn.Module | None = None) -> Tower:
    """Runs a list of layers; `root` is a sharded module around them, where there is one."""
    angles = torch.ones(1, SEQUENCE, 1, HEAD_DIM // 2, dtype=torch.complex64)

    def forward() -> Tensor:
        x = torch.zeros(BATCH, SEQUENCE, HIDDEN, requires_grad=True)
        if root is not None:
            out: Tensor = root(x, angles)
            return out
        for module in modules:
            x = module(x, angles)
        return x

    return Tower(forward=forward, parameters=tuple(modules.parameters()))


def build(layers: int, recompute: bool) -> Tower:
    """A stack of layers, all of each layer recomputed if asked."""
    return tower(stack(layers, recompute, lambda module: module))


def build_per_operation(layers: int, recompute: bool) -> Tower:
    """The same; recomputation decides operation by operation."""
    return tower(stack(layers, recompute, lambda module: module, per_operation))


def build_compiled(layers: int, recompute: bool) -> Tower:
    """Each layer compiled by itself."""
    return tower(stack(layers, recompute, _compiled))


def build_compiled_whole(layers: int, recompute: bool) -> Tower:
    """All layers as one compiled graph; recomputation is then the compiler's own choice."""
    assert not recompute
    modules = stack(layers, recompute, lambda module: module)
    return tower(modules, _compiled(Chain(modules)))


class Chain(nn.Module):
    """Calls its layers in turn, so that a wrapper can take them as one module."""

    def __init__(self, layers: nn.ModuleList) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, x: Tensor, *args: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, *args)
        return x


def _compiled(module: nn.Module) -> nn.Module:
    module.compile(fullgraph=True)
    return module
