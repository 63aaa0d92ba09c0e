"""The operation table of a transformer layer: matrix products, attention, memory-bound passes.

Everything is for one micro-batch on one device, forward, per layer: arrays (g, n) over kinds of
layers and candidates. T = micro_batch · seq_len / cp is the tokens that a device holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.batch import Batch, Blocks
from planner.engine.choices import ATTENTIONS

Array = np.ndarray[Any, np.dtype[Any]]

MATH_ATTENTION = ATTENTIONS.index("sdpa-math")


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """`groups` matrix products of (m, k) by (k, n); m counts tokens. Arrays (g, n)."""

    name: str
    part: str  # attention | ffn | experts | router | head
    m: Array
    n: Array
    k: Array
    groups: Array | float = 1.0
    low_precision: bool = True  # runs in the recipe's matmul format
    grouped: bool = False  # many small products in one launch

    @property
    def flops(self) -> Array:
        """FLOP of the forward product: 2·m·n·k."""
        return 2 * self.m * self.n * self.k * self.groups


def tokens(batch: Batch) -> Array:
    """Tokens per device and micro-batch by kind of layer, (g, n)."""
    parallel, blocks = batch.parallel, batch.shape.blocks
    length = np.where(blocks.encoder > 0, parallel.encoder_seq_len, parallel.seq_len)
    result: Array = parallel.micro_batch * length / parallel.cp
    return result


def layer_products(batch: Batch) -> list[Product]:
    """The matrix products of one layer, forward."""
    blocks, hidden, tp = batch.shape.blocks, batch.shape.hidden, batch.parallel.tp
    m = tokens(batch)
    products = [*_attention_products(blocks, hidden, tp, m)]
    if blocks.cross_attention.any():
        products += _cross_products(batch, m)
    if blocks.ffn_hidden.any():
        products += _ffn_products("ffn", "ffn", blocks.ffn_hidden, blocks.gated, hidden, tp, m)
    if blocks.num_experts.any():
        products += _expert_products(batch, m)
    return products


def _attention_products(blocks: Blocks, hidden: Array, tp: Array, m: Array) -> list[Product]:
    query = blocks.heads * blocks.head_dim
    kv_heads = np.maximum(blocks.kv_heads, tp)  # fewer heads than ranks are replicated
    out = Product(
        name="out", part="attention", m=m, n=hidden, k=blocks.heads * blocks.v_head_dim / tp
    )
    if not blocks.kv_lora_rank.any():
        width = (query + kv_heads * (blocks.head_dim + blocks.v_head_dim)) / tp
        return [Product(name="qkv", part="attention", m=m, n=width, k=hidden), out]
    return [*_latent_products(blocks, hidden, tp, m, query, kv_heads), out]


def _latent_products(
    blocks: Blocks, hidden: Array, tp: Array, m: Array, query: Array, kv_heads: Array
) -> list[Product]:
    latent = blocks.kv_lora_rank > 0
    query_down = blocks.q_lora_rank > 0
    plain = (query + kv_heads * (blocks.head_dim + blocks.v_head_dim)) / tp
    first = np.where(
        latent,
        np.where(query_down, blocks.q_lora_rank, query / tp)
        + blocks.kv_lora_rank
        + blocks.rope_head_dim,
        plain,
    )
    up = blocks.heads * (blocks.head_dim - blocks.rope_head_dim + blocks.v_head_dim) / tp
    return [
        Product(name="qkv_down", part="attention", m=m, n=first, k=hidden),
        Product(
            name="q_up",
            part="attention",
            m=m,
            n=np.where(query_down, query / tp, 0.0),
            k=blocks.q_lora_rank,
        ),
        Product(
            name="kv_up", part="attention", m=m, n=np.where(latent, up, 0.0), k=blocks.kv_lora_rank
        ),
    ]


def _cross_products(batch: Batch, m: Array) -> list[Product]:
    blocks, hidden, parallel = batch.shape.blocks, batch.shape.hidden, batch.parallel
    source = parallel.micro_batch * parallel.encoder_seq_len / parallel.cp * blocks.cross_attention
    m = m * blocks.cross_attention
    query = blocks.heads * blocks.head_dim / parallel.tp
    keys = blocks.kv_heads * (blocks.head_dim + blocks.v_head_dim) / parallel.tp
    return [
        Product(name="cross_q", part="attention", m=m, n=query, k=hidden),
        Product(name="cross_kv", part="attention", m=source, n=keys, k=hidden),
        Product(name="cross_out", part="attention", m=m, n=hidden, k=query),
    ]


def _ffn_products(
    name: str, part: str, width: Array, gated: Array, hidden: Array, tp: Array, m: Array
) -> list[Product]:
    return [
        Product(name=f"{name}_up", part=part, m=m, n=(1 + gated) * width / tp, k=hidden),
        Product(name=f"{name}_down", part=part, m=m, n=hidden, k=width / tp),
    ]


def _expert_products(batch: Batch, m: Array) -> list[Product]:
    """Router, shared experts, and the routed experts as grouped products with balanced routing."""
    blocks, hidden, parallel = batch.shape.blocks, batch.shape.hidden, batch.parallel
    experts = np.maximum(blocks.num_experts, 1)
    groups = np.maximum(experts / parallel.ep, 1)
    rows = m * blocks.top_k / groups  # tokens of one local expert: ep ranks send theirs
    width = blocks.expert_hidden / parallel.tp
    seen = expert_input(batch)
    return [
        Product(
            name="router", part="router", m=m, n=blocks.num_experts, k=hidden, low_precision=False
        ),
        *_ffn_products(
            "shared", "experts", blocks.shared_hidden, blocks.gated, hidden, parallel.tp, m
        ),
        Product(
            name="experts_up",
            part="experts",
            m=rows,
            n=(1 + blocks.gated) * width,
            k=seen,
            groups=groups,
            grouped=True,
        ),
        Product(
            name="experts_down",
            part="experts",
            m=rows,
            n=seen,
            k=width,
            groups=groups,
            grouped=True,
        ),
    ]


def expert_input(batch: Batch) -> Array:
    """Width of the rows that travel to the routed experts, (g, n)."""
    blocks = batch.shape.blocks
    result: Array = np.where(blocks.expert_input > 0, blocks.expert_input, batch.shape.hidden)
    return result


def head_product(batch: Batch) -> Product:
    """The output layer on one device, forward, (n,). It stays in the activation format."""
    parallel = batch.parallel
    return Product(
        name="head",
        part="head",
        m=parallel.micro_batch * parallel.seq_len / parallel.cp,
        n=batch.shape.vocab / parallel.tp,
        k=batch.shape.hidden,
        low_precision=False,
    )


def attended_tokens(batch: Batch) -> Array:
    """Keys that a query sees on average, (g, n): half of the length when causal."""
    blocks, parallel = batch.shape.blocks, batch.parallel
    length = np.where(blocks.encoder > 0, parallel.encoder_seq_len, parallel.seq_len)
    within = np.minimum(blocks.window, length)
    causal = within - within * within / (2 * length)  # mean over positions with a window
    result: Array = np.where(blocks.causal > 0, causal, length)
    return result


def attention_flops(batch: Batch) -> Array:
    """FLOP of the two attention products, forward, per layer and device, (g, n).

    2·(d_qk + d_v) FLOP per query, head and attended key; flash kernels skip what the mask hides,
    plain attention computes the whole square. A state-space scan computes whole chunks, and per
    token and head the chunk's state and its share of the output, 2·2·state·width (Dao and Gu 2024,
    section 6).
    """
    blocks, parallel = batch.shape.blocks, batch.parallel
    length = np.where(blocks.encoder > 0, parallel.encoder_seq_len, parallel.seq_len)
    keys = np.where(parallel.attention == MATH_ATTENTION, length, attended_tokens(batch))
    keys = keys + blocks.cross_attention * parallel.encoder_seq_len
    per_head = 2 * (blocks.head_dim + blocks.v_head_dim) * keys
    chunk = 2 * (blocks.head_dim + blocks.v_head_dim) * np.minimum(blocks.window, length)
    scan = chunk + 4 * blocks.head_dim * blocks.v_head_dim
    per_head = np.where(blocks.state_space > 0, scan, per_head)
    result: Array = per_head * blocks.heads / parallel.tp * tokens(batch)
    return result


def score_elements(batch: Batch) -> Array:
    """Elements of the score matrix of plain attention, per layer and device, (g, n)."""
    blocks, parallel = batch.shape.blocks, batch.parallel
    length = np.where(blocks.encoder > 0, parallel.encoder_seq_len, parallel.seq_len)
    result: Array = tokens(batch) * length * blocks.heads / parallel.tp
    return result
