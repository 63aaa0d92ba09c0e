"""Falcon: one fused projection whose key-value heads follow from two flags."""

from __future__ import annotations

from dataclasses import replace

from planner.engine.model import Model
from planner.models.dense import assemble
from planner.models.fields import Fields
from planner.models.parts import Attention, make_block
from planner.models.style import (
    HEADS,
    HIDDEN,
    KV_HEADS,
    LAYERS,
    Style,
    read_ffn,
    style_attention,
    style_mlp,
)

STYLE = Style(
    in_bias=("bias", False),
    out_bias=("bias", False),
    mlp_bias=("bias", False),
    tied=True,
    gated=False,
    attention_names=("query_key_value", "dense"),
    mlp_names=("dense_h_to_4h", "dense_4h_to_h"),
    norm_tensors=2,
    ffn_ratio=4,
)


def read_falcon(fields: Fields, family: str) -> Model:
    """Falcon 7B, 40B, 180B and RW: `num_kv_heads` counts only in the newer decoder layout."""
    sizes = _attention(fields)
    style = replace(STYLE, norms=_norms(fields))
    width = read_ffn(fields, style, sizes.hidden)
    block = make_block(
        sizes,
        (*style_attention(fields, style, sizes), *style_mlp(fields, style, sizes.hidden, width)),
        count=fields.layers(*LAYERS),
        norm_params=style.norms * style.norm_tensors * sizes.hidden,
        ffn_hidden=width,
    )
    return assemble(fields, family, style, sizes, (block,))


def _attention(fields: Fields) -> Attention:
    hidden, heads = fields.count(*HIDDEN), fields.count(*HEADS)
    head_dim = fields.divided(hidden, HIDDEN[0], heads, HEADS[0])
    kv_heads = _kv_heads(fields, heads)
    if heads % kv_heads:
        raise fields.error("num_kv_heads", kv_heads, f"must divide num_attention_heads {heads}")
    return Attention(hidden=hidden, heads=heads, kv_heads=kv_heads, head_dim=head_dim)


def _kv_heads(fields: Fields, heads: int) -> int:
    if fields.flag("new_decoder_architecture", absent=False):
        return fields.optional(*KV_HEADS) or heads
    return 1 if fields.flag("multi_query", absent=True) else heads


def _norms(fields: Fields) -> int:
    if fields.flag("new_decoder_architecture", absent=False):
        return fields.optional("num_ln_in_parallel_attn") or 2
    return 1 if fields.flag("parallel_attn", absent=True) else 2
