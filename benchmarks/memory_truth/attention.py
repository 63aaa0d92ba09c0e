"""Causal self-attention with each kernel that trainers use."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.memory_truth.case import Case
from benchmarks.memory_truth.linear import linear


def rotate(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """Rotary positions applied to heads of shape (batch, heads, tokens, head_dim)."""
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine


def repeat_heads(x: torch.Tensor, times: int) -> torch.Tensor:
    """Key or value heads copied for every query head that shares them."""
    if times == 1:
        return x
    batch, heads, tokens, width = x.shape
    wide = x[:, :, None].expand(batch, heads, times, tokens, width)
    return wide.reshape(batch, heads * times, tokens, width)


def composed_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor, case: Case
) -> torch.Tensor:
    """Scores, softmax and values as separate operations; the s² matrices are materialised."""
    scores = torch.matmul(q, k.transpose(2, 3)) * case.head_dim**-0.5 + mask
    if case.attention == "eager-fp32-softmax":
        weights = functional.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    else:
        weights = functional.softmax(scores, dim=-1)
    return torch.matmul(drop(weights, case), v)


def drop(x: torch.Tensor, case: Case) -> torch.Tensor:
    """Dropout as the GPU kernel does it: a one-byte mask is kept."""
    return torch.native_dropout(x, case.dropout, True)[0] if case.dropout else x


class Core(nn.Module):
    """Attention between the projections: what selective recomputation leaves out."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        if self.case.attention.startswith("eager"):
            return composed_attention(q, k, v, mask, self.case)
        grouped = q.shape[1] != k.shape[1]
        if self.case.attention == "flash":
            return functional.scaled_dot_product_attention(
                q, k, v, is_causal=True, enable_gqa=grouped
            )
        with sdpa_kernel(SDPBackend.MATH):
            return functional.scaled_dot_product_attention(
                q, k, v, is_causal=True, enable_gqa=grouped
            )


class Attention(nn.Module):
    """Projections, positions, the core, the output projection."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case
        query_width, key_width = case.heads * case.head_dim, case.kv_heads * case.head_dim
        if case.qkv == "fused":
            self.qkv = linear(case, "qkv", case.hidden, query_width + 2 * key_width)
        else:
            self.q = linear(case, "q", case.hidden, query_width)
            self.k = linear(case, "k", case.hidden, key_width)
            self.v = linear(case, "v", case.hidden, key_width)
        self.core = Core(case)
        self.o = linear(case, "o", query_width, case.hidden)

    def forward(
        self,
        x: torch.Tensor,
        rotary: tuple[torch.Tensor, torch.Tensor] | None,
        mask: torch.Tensor | None,
    ) -> torch.Tensor:
        q, k, v = self._heads(x, rotary)
        if self.case.recompute == "selective-attention":
            out = torch.utils.checkpoint.checkpoint(
                self.core, q, k, v, mask, use_reentrant=False, preserve_rng_state=False
            )
        else:
            out = self.core(q, k, v, mask)
        return self.o(out.transpose(1, 2).reshape(*x.shape[:2], -1))

    def _heads(
        self, x: torch.Tensor, rotary: tuple[torch.Tensor, torch.Tensor] | None
    ) -> tuple[torch.Tensor, ...]:
        q, k, v = (
            part.unflatten(-1, (-1, self.case.head_dim)).transpose(1, 2)
            for part in self._project(x)
        )
        if rotary is not None:
            q, k = rotate(q, *rotary), rotate(k, *rotary)
        if self.case.kv_heads_as == "repeated" or self.case.attention.startswith("eager"):
            times = self.case.heads // self.case.kv_heads
            k, v = repeat_heads(k, times), repeat_heads(v, times)
        return q, k, v

    def _project(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if self.case.qkv == "split":
            return self.q(x), self.k(x), self.v(x)
        query, key = self.case.heads * self.case.head_dim, self.case.kv_heads * self.case.head_dim
        return self.qkv(x).split((query, key, key), dim=-1)
