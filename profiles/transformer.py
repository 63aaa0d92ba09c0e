"""A transformer of given widths as a torch module: what `--model` and the layer kernel measure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from profiles.backend import torch_module
from profiles.errors import ProfileError


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimensions:
    """Widths of a plain transformer."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn_hidden: int
    gated: bool = False  # SwiGLU instead of GELU
    vocab: int = 0  # 0 = no embedding and no output layer
    tied: bool = True
    causal: bool = True
    bias: bool = False
    positions: int = 0  # learned positions, 0 = none

    def __post_init__(self) -> None:
        for name in ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn_hidden"):
            if getattr(self, name) < 1:
                raise ProfileError(name, getattr(self, name), "at least 1")
        if self.heads % self.kv_heads:
            raise ProfileError("kv_heads", self.kv_heads, f"must divide {self.heads} heads")

    @property
    def layer_params(self) -> int:
        """Weights of one layer, biases and norms left out."""
        query = self.heads * self.head_dim
        keys = 2 * self.kv_heads * self.head_dim
        ffn = (3 if self.gated else 2) * self.ffn_hidden
        return self.hidden * (2 * query + keys + ffn)


def layer_flops(dimensions: Dimensions, batch: int, length: int) -> float:
    """FLOP of one layer, forward: products, and attention as the mask leaves it."""
    seen = (length + 1) / 2 if dimensions.causal else length
    attention = 4.0 * length * seen * dimensions.heads * dimensions.head_dim
    return batch * (2.0 * length * dimensions.layer_params + attention)


def make_layer(dimensions: Dimensions) -> Any:
    """One pre-norm layer: (batch, length, hidden) to the same."""
    return _layer_class()(dimensions)


@cache
def _layer_class() -> Any:
    """One class for all layers, so that a compiled one serves the others."""
    torch = torch_module()
    nn, functional = torch.nn, torch.nn.functional

    class Layer(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, d: Dimensions) -> None:
            super().__init__()
            self.heads, self.width, self.causal, self.gated = d.heads, d.head_dim, d.causal, d.gated
            self.grouped = d.heads != d.kv_heads
            self.sizes = (
                d.heads * d.head_dim,
                d.kv_heads * d.head_dim,
                d.kv_heads * d.head_dim,
            )
            norm = nn.RMSNorm if d.gated else nn.LayerNorm
            self.norm_1, self.norm_2 = norm(d.hidden), norm(d.hidden)
            self.qkv = nn.Linear(d.hidden, sum(self.sizes), bias=d.bias)
            self.out = nn.Linear(d.heads * d.head_dim, d.hidden, bias=d.bias)
            self.up = nn.Linear(d.hidden, (1 + d.gated) * d.ffn_hidden, bias=d.bias)
            self.down = nn.Linear(d.ffn_hidden, d.hidden, bias=d.bias)

        def forward(self, x: Any) -> Any:
            x = x + self.out(self._attend(self.norm_1(x)))
            return x + self.down(self._activate(self.up(self.norm_2(x))))

        def _attend(self, x: Any) -> Any:
            batch, length, _ = x.shape
            q, k, v = (
                each.view(batch, length, -1, self.width).transpose(1, 2)
                for each in self.qkv(x).split(self.sizes, dim=-1)
            )
            seen = functional.scaled_dot_product_attention(
                q, k, v, is_causal=self.causal, enable_gqa=self.grouped
            )
            return seen.transpose(1, 2).reshape(batch, length, self.heads * self.width)

        def _activate(self, x: Any) -> Any:
            if not self.gated:
                return functional.gelu(x)
            gate, up = x.chunk(2, dim=-1)
            return functional.silu(gate) * up

    return Layer


def make_model(dimensions: Dimensions) -> Any:
    """The whole model: tokens (batch, length) to logits (batch, length, vocab)."""
    torch = torch_module()
    nn = torch.nn

    class Transformer(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            d = dimensions
            self.embedding = nn.Embedding(d.vocab, d.hidden)
            self.positions = nn.Embedding(d.positions, d.hidden) if d.positions else None
            self.layers = nn.ModuleList([make_layer(d) for _ in range(d.layers)])
            self.norm = (nn.RMSNorm if d.gated else nn.LayerNorm)(d.hidden)
            self.head = nn.Linear(d.hidden, d.vocab, bias=False)
            if d.tied:
                self.head.weight = self.embedding.weight

        def forward(self, tokens: Any) -> Any:
            x = self.embedding(tokens)
            if self.positions is not None:
                at = torch.arange(tokens.shape[1], device=tokens.device)
                x = x + self.positions(at)
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x))

    if dimensions.vocab < 1:
        raise ProfileError("vocab", dimensions.vocab, "a whole model needs a vocabulary")
    return Transformer()
