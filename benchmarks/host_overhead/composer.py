"""An MPT layer as Composer ran it in 2023: autocast, low-precision norm, one QKV projection."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.host_overhead.kernels import kernel
from benchmarks.host_overhead.style import BATCH, HEAD_DIM, HEADS, HIDDEN, SEQUENCE, Tower


class LowPrecisionNorm(nn.LayerNorm):
    """Layer norm in the autocast format: casts by hand, autocast off around the kernel."""

    def forward(self, x: Tensor) -> Tensor:
        device = x.device.type
        low = _lower(x)
        weight = _lower(self.weight) if self.weight is not None else self.weight
        bias = _lower(self.bias) if self.bias is not None else self.bias
        with torch.autocast(enabled=False, device_type=device):
            return functional.layer_norm(low, self.normalized_shape, weight, bias, self.eps)


def _lower(x: Tensor) -> Tensor:
    if torch.is_autocast_enabled("cpu"):
        return x.to(dtype=torch.get_autocast_dtype("cpu"))
    return x


@lru_cache(256)
def _recipe(pattern: str, dims: int, **sizes: int) -> tuple[str, str]:
    left, right = pattern.split("->")
    return left.strip(), right.strip()


def rearrange(x: Tensor, pattern: str, **sizes: int) -> Tensor:
    """Split or join the heads by a cached pattern."""
    _, right = _recipe(pattern, x.dim(), **sizes)
    b, s = x.shape[:2]
    return x.reshape(b, s, sizes["h"], -1) if right.endswith("h d") else x.reshape(b, s, -1)


class FlashAttention(torch.autograd.Function):
    """Flash attention as the extension exposes it: one kernel forward, three backward."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float) -> Tensor:
        q, k, v = (each if each.stride(-1) == 1 else each.contiguous() for each in (q, k, v))
        assert q.shape[-1] <= 128
        assert q.dtype == k.dtype == v.dtype
        out = kernel(q, extra_outputs=2)
        ctx.save_for_backward(q, k, v, out)
        ctx.causal, ctx.scale = causal, scale
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        _, k, v, out = ctx.saved_tensors
        kernel(out)
        dk, dv = torch.empty_like(k), torch.empty_like(v)
        return kernel(kernel(grad)), dk, dv, None, None


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wqkv = nn.Linear(HIDDEN, 3 * HEADS * HEAD_DIM)
        self.out_proj = nn.Linear(HEADS * HEAD_DIM, HIDDEN)

    def forward(self, x: Tensor, past: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, None]:
        query, key, value = self.wqkv(x).chunk(3, dim=2)
        out = self._flash(query, key, value)
        return self.out_proj(out), None

    def _flash(self, *tensors: Tensor) -> Tensor:
        for each in tensors:
            if each.dtype not in (torch.float16, torch.bfloat16):
                raise TypeError(f"{each.dtype}: flash attention needs a 16-bit format")
        heads = [rearrange(each, "b s (h d) -> b s h d", h=HEADS) for each in tensors]
        out = FlashAttention.apply(*heads, True, HEAD_DIM**-0.5)
        return rearrange(out, "b s h d -> b s (h d)", h=HEADS)


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)
        self.act = nn.GELU(approximate="none")

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.down(self.act(self.up(x)))
        return result


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = LowPrecisionNorm(HIDDEN), LowPrecisionNorm(HIDDEN)
        self.attn, self.ffn = Attention(), FeedForward()
        self.drop_attn, self.drop_ffn = nn.Dropout(0.0), nn.Dropout(0.0)

    def forward(self, x: Tensor, past: tuple[Tensor, Tensor] | None = None) -> Tensor:
        out, _ = self.attn(self.norm_1(x), past=past)
        x = x + self.drop_attn(out)
        return x + self.drop_ffn(self.ffn(self.norm_2(x)))


def build(layers: int, recompute: bool) -> Tower:
    """A stack of layers with 16-bit weights under autocast, as sharding with mixed precision
    leaves them."""
    from torch.utils.checkpoint import checkpoint

    modules = nn.ModuleList(Layer() for _ in range(layers)).to(torch.bfloat16)

    def forward() -> Tensor:
        x = torch.zeros(BATCH, SEQUENCE, HIDDEN, dtype=torch.bfloat16, requires_grad=True)
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            for module in modules:
                x = checkpoint(module, x, use_reentrant=False) if recompute else module(x)
        return x

    return Tower(forward=forward, parameters=tuple(modules.parameters()))
