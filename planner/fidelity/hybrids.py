"""Hybrids of Mamba-2, attention and experts, approximated by layers that the engine knows.

A Mamba-2 layer computes, inside chunks, what masked linear attention computes: queries and keys
as wide as the state, grouped like key-value heads, and values as wide as a state head (Dao and
Gu 2024, "Transformers are SSMs", section 6). It is therefore written here as attention with a
window of one chunk, with its exact number of parameters. Experts behind a latent projection keep
their FLOPs and parameters: their width is scaled by latent / hidden, and the two projections
count as one more always-active expert.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache

from planner.engine.model import Block, Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid:
    """Dimensions as the published config states them; widths in elements."""

    pattern: str  # one letter a layer: M state space, * attention, E experts
    hidden: int
    vocab: int
    heads: int
    kv_heads: int
    head_dim: int
    state_heads: int
    state_head_dim: int
    state_size: int
    state_groups: int
    conv_kernel: int
    chunk: int  # tokens that one scan step treats at once
    num_experts: int
    top_k: int
    expert_hidden: int
    shared_hidden: int
    latent: int  # width that routed experts see, 0 = hidden
    mtp_layers: int = 0  # attention and experts that predict further tokens while training

    @property
    def state_width(self) -> int:
        return self.state_heads * self.state_head_dim


@cache
def hybrid_model(hybrid: Hybrid, name: str) -> Model:
    """The hybrid as a decoder. Layers that follow each other as mixer and experts are one block."""
    kinds = Counter(pairs(hybrid.pattern))
    embedding = hybrid.vocab * hybrid.hidden
    return Model(
        name=name,
        family="nemotron_h",
        kind="decoder",
        hidden=hybrid.hidden,
        vocab=hybrid.vocab,
        blocks=(
            *(_block(hybrid, kind, count) for kind, count in kinds.items()),
            *_prediction(hybrid),
        ),
        input_embedding_params=embedding,
        head_params=embedding,
        final_params=hybrid.hidden,
        warnings=("state-space layers are approximated by windowed attention",),
    )


def pairs(pattern: str) -> list[str]:
    """Mixers with the experts that follow them.

    >>> pairs("MEM*E")
    ['ME', 'M', '*E']
    """
    found: list[str] = []
    for letter in pattern:
        if letter == "E" and found and found[-1] in ("M", "*"):
            found[-1] += "E"
        else:
            found.append(letter)
    return found


def _block(hybrid: Hybrid, kind: str, count: int) -> Block:
    mixer = _state_space(hybrid) if kind[0] == "M" else _attention(hybrid)
    experts = _experts(hybrid) if kind.endswith("E") else {}
    norms = len(kind) * hybrid.hidden
    return Block(
        count=count,
        norm_params=norms + mixer.pop("small"),
        **mixer,  # type: ignore[arg-type]
        **experts,  # type: ignore[arg-type]
    )


def _prediction(hybrid: Hybrid) -> tuple[Block, ...]:
    """Multi-token prediction. Each layer's pass through the output layer stands as width V/2 of
    its always-active expert: two matrices that cost what the h·V output matrix costs."""
    if not hybrid.mtp_layers:
        return ()
    block = _block(hybrid, "*E", hybrid.mtp_layers)
    return (replace(block, shared_hidden=block.shared_hidden + hybrid.vocab // 2),)


def _attention(hybrid: Hybrid) -> dict[str, int]:
    width = hybrid.heads * hybrid.head_dim + 2 * hybrid.kv_heads * hybrid.head_dim
    return {
        "heads": hybrid.heads,
        "kv_heads": hybrid.kv_heads,
        "head_dim": hybrid.head_dim,
        "v_head_dim": hybrid.head_dim,
        "attention_params": hybrid.hidden * (width + hybrid.heads * hybrid.head_dim),
        "small": 0,
    }


def _state_space(hybrid: Hybrid) -> dict[str, int]:
    """Projections to gate, values, B, C and step sizes; a convolution, A, D and a norm follow."""
    inner, groups = hybrid.state_width, hybrid.state_groups * hybrid.state_size
    convolved = inner + 2 * groups
    projected = 2 * inner + 2 * groups + hybrid.state_heads
    return {
        "heads": hybrid.state_heads,
        "kv_heads": hybrid.state_groups,
        "head_dim": hybrid.state_size,
        "v_head_dim": hybrid.state_head_dim,
        "window": hybrid.chunk,
        "state_space": True,
        "attention_params": hybrid.hidden * (projected + inner),
        "small": convolved * (hybrid.conv_kernel + 1) + 3 * hybrid.state_heads + inner,
    }


def _experts(hybrid: Hybrid) -> dict[str, int]:
    """Plain two-matrix experts with a squared ReLU."""
    seen = hybrid.latent or hybrid.hidden
    shared = hybrid.shared_hidden + hybrid.latent
    return {
        "num_experts": hybrid.num_experts,
        "top_k": hybrid.top_k,
        "expert_hidden": hybrid.expert_hidden,
        "expert_input": hybrid.latent,
        "shared_hidden": shared,
        "expert_params": 2 * seen * hybrid.expert_hidden * hybrid.num_experts,
        "shared_params": 2 * hybrid.hidden * shared,
        "router_params": hybrid.num_experts * (hybrid.hidden + 1),
    }
