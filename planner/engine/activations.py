"""Bytes that a layer keeps from its forward to its backward pass, counted tensor by tensor.

Everything is per token, layer and device, arrays (g, n) over kinds of layers and candidates.
The counts are those of autograd: an operation keeps the inputs that its derivative needs, and a
tensor that two operations keep counts once. Checked against torch's tracker under fake tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.choices import ATTENTIONS, RECOMPUTES, SHARDINGS
from planner.engine.feedforward import FeedForward, adapter_input, feed_forward
from planner.engine.software import PLAIN_ATTENTIONS

Array = np.ndarray[Any, np.dtype[Any]]

FP32 = 4.0  # bytes
MATH = ATTENTIONS.index("sdpa-math")
SELECTIVE, FULL = RECOMPUTES.index("selective"), RECOMPUTES.index("full")
ZERO3, HSDP = SHARDINGS.index("zero3"), SHARDINGS.index("hsdp")
DECODED, EAGER, EAGER_FP32 = (
    PLAIN_ATTENTIONS.index(word) for word in ("sdpa-math", "eager", "eager-fp32-softmax")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Formats:
    """Bytes per element, (n,) each."""

    compute: Array  # of matrix products and attention
    stream: Array  # of the residual stream, which autocast leaves in FP32
    autocast: Array  # 0 or 1: 16-bit copies of FP32 weights and inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerBytes:
    """One layer, bytes per token and device, (g, n) each."""

    whole: Array  # kept without recomputation
    kept: Array  # kept under the batch's recomputation
    again: Array  # that recomputation brings back on top while the layer goes back
    ffn_back: Array  # gradients inside the feed-forward network as it goes back
    attention_back: Array  # the same in attention, when the network's own part is gone


def formats(batch: Batch) -> Formats:
    """Formats of a batch: gathered shards are cast on the way, so nothing is FP32 then."""
    compute, sharding = batch.recipe.activation_bytes, batch.parallel.sharding
    autocast = batch.software.wide * ((sharding != ZERO3) & (sharding != HSDP))
    return Formats(compute=compute, stream=np.where(autocast > 0, FP32, compute), autocast=autocast)


def stream_split(batch: Batch) -> Array:
    """Ranks that share the residual stream: the tensor group under sequence parallelism."""
    parallel = batch.parallel
    result: Array = np.where(parallel.sequence_parallel > 0, parallel.tp, 1.0)
    return result


def stream_width(batch: Batch) -> Array:
    """Elements of the residual stream per token and device, (n,)."""
    result: Array = batch.shape.hidden / stream_split(batch)
    return result


def layer_bytes(batch: Batch, each: Formats) -> LayerBytes:
    """What one layer keeps and what its backward pass needs."""
    width = stream_width(batch)
    ffn = feed_forward(batch, each.compute, each.stream, width)
    core, dropped = _core(batch, each)
    inputs = _inputs(batch, each, width)
    whole = _norms(batch, each.stream, width) + inputs + core + dropped + ffn.kept
    entry = each.stream * width
    kept, again = _recomputed(batch, each, whole, dropped, entry, ffn)
    back = batch.shape.blocks.heads * batch.shape.blocks.v_head_dim / batch.parallel.tp
    scores = _score_gradients(batch, each) * _scores_per_token(batch)
    return LayerBytes(
        whole=whole,
        kept=kept,
        again=again,
        ffn_back=ffn.back,
        attention_back=entry + each.compute * back + scores - ffn.kept,
    )


def norm_bytes(batch: Batch, stream: Array, width: Array) -> Array:
    """One norm over `width` elements: its input and statistics; its output counts elsewhere.

    An eager RMSNorm keeps an FP32 copy of its input, and the scaled input for its weight.
    """
    software = batch.software
    scaled = np.where(software.frozen > 0, 0.0, stream)
    eager = (FP32 + scaled) * width + FP32
    kernel = stream * width + FP32 * (1 + software.layer_norm)
    result: Array = np.where(software.norm_eager > 0, eager, kernel)
    return result


def _norms(batch: Batch, stream: Array, width: Array) -> Array:
    """All norms of a layer, those of queries and keys included."""
    blocks, software = batch.shape.blocks, batch.software
    plain = 2.0 + blocks.cross_attention
    counted = np.floor(blocks.norm_params / batch.shape.hidden)
    number = np.where(software.layer_norm > 0, plain, np.maximum(counted, 1.0))
    number = np.where(software.shared_norm_input > 0, 1.0, number)
    result: Array = number * norm_bytes(batch, stream, width)
    rest = blocks.norm_params - counted * batch.shape.hidden
    extra = (software.layer_norm == 0) & (rest > 0) & (blocks.kv_lora_rank == 0)
    if extra.any():
        heads = (blocks.heads + blocks.kv_heads) * blocks.head_dim / batch.parallel.tp
        narrow = norm_bytes(batch, batch.recipe.activation_bytes, heads)
        result = result + np.where(extra, narrow, 0.0)
    return result


def _inputs(batch: Batch, each: Formats, width: Array) -> Array:
    """Inputs of the query, key and value products, and dropout masks of the residual.

    Autocast gives every product a 16-bit copy of its own.
    """
    software = batch.software
    readers = np.where(software.qkv_fused > 0, 1.0, 3.0)
    result = each.compute * width * np.where(each.autocast > 0, readers, 1.0)
    if software.frozen.any():
        adapted = adapter_input(batch, software.adapters_attention, width)
        result = np.where(software.frozen > 0, adapted + software.inputs_kept * result, result)
    if software.dropout.any():
        result = result + 2 * software.dropout * width
    return result


def _core(batch: Batch, each: Formats) -> tuple[Array, Array]:
    """(kept whatever is recomputed, dropped when the attention core is recomputed)."""
    blocks, software, tp = batch.shape.blocks, batch.software, batch.parallel.tp
    out = each.compute * blocks.heads * blocks.v_head_dim / tp
    held = _heads(batch, each) + _projection_input(batch, each, out)
    statistics = FP32 * blocks.heads / tp + np.zeros(1)
    plain = batch.parallel.attention == MATH
    if not plain.any():
        return held, statistics
    query, key, value = _query_key_value(batch, repeated=True)
    kind = software.plain_kind
    element = np.where(kind == DECODED, FP32, each.compute)
    composed = element * (query + key + value)
    scores = _kept_scores(batch, each) * _scores_per_token(batch)
    heads = _heads(batch, each)
    kept = np.where(plain, held - heads + np.minimum(heads, composed + scores), held)
    return kept, np.where(plain, np.maximum(composed + scores - heads, 0.0), statistics)


def _query_key_value(batch: Batch, *, repeated: bool = False) -> tuple[Array, Array, Array]:
    """Elements of queries, keys and values per token as the core sees them, (g, n)."""
    blocks, software, tp = batch.shape.blocks, batch.software, batch.parallel.tp
    latent = blocks.kv_lora_rank > 0
    own = np.maximum(blocks.kv_heads, tp)  # fewer heads than ranks are replicated
    heads = np.where(latent | (software.kv_repeated > 0) | repeated, blocks.heads, own) / tp
    return blocks.heads / tp * blocks.head_dim, heads * blocks.head_dim, heads * blocks.v_head_dim


def _heads(batch: Batch, each: Formats) -> Array:
    """Queries, keys and values as tensors; views of a fused product keep all of it."""
    blocks, software, tp = batch.shape.blocks, batch.software, batch.parallel.tp
    query, key, value = _query_key_value(batch)
    result = each.compute * (query + key + value)
    if software.qkv_fused.any():
        own = np.maximum(blocks.kv_heads, tp) / tp
        fused = query + own * (blocks.head_dim + blocks.v_head_dim)
        copied = key > own * blocks.head_dim
        turned = software.rotary > 0
        views = np.where(turned, fused + query + key, fused + np.where(copied, key + value, 0.0))
        views = np.where(turned & copied, query + key + value, views)
        result = np.where(software.qkv_fused > 0, each.compute * views, result)
    if blocks.kv_lora_rank.any():
        result = result + _latents(batch, each)
    if blocks.cross_attention.any():
        result = result * (1 + blocks.cross_attention)
    if (software.padded_queries + software.padded_keys).any():
        update = software.padded_queries * query + software.padded_keys * key
        result = result + each.compute * update
    kept: Array = result
    return kept


def _latents(batch: Batch, each: Formats) -> Array:
    """Latent attention keeps both latents before and after their norms."""
    blocks = batch.shape.blocks
    width = (blocks.q_lora_rank + blocks.kv_lora_rank) / stream_split(batch)
    kept = norm_bytes(batch, each.compute, width) + each.compute * width
    result: Array = np.where(width > 0, kept, 0.0)
    return result


def _projection_input(batch: Batch, each: Formats, out: Array) -> Array:
    """Attention's output, which flash attention keeps and the output projection reads."""
    software = batch.software
    flash = batch.parallel.attention != MATH
    if not software.frozen.any():
        return out
    width = batch.shape.blocks.heads * batch.shape.blocks.v_head_dim / batch.parallel.tp
    adapted = adapter_input(batch, software.adapters_out, width)
    reads_kept = (software.adapter_shared > 0) & (software.adapters_out > 0) & flash
    reads_kept = reads_kept & (software.adapter_bytes == each.compute)
    own = np.where(flash, 1.0, software.inputs_kept)
    frozen = own * out + adapted - np.where(reads_kept, out, 0.0)
    result: Array = np.where(software.frozen > 0, frozen, out)
    return result


def _scores_per_token(batch: Batch) -> Array:
    """Elements of the score matrix per token and device, (g, n); none under flash attention."""
    blocks, parallel = batch.shape.blocks, batch.parallel
    length = np.where(blocks.encoder > 0, parallel.encoder_seq_len, parallel.seq_len)
    scores = length * blocks.heads / parallel.tp
    result: Array = np.where(parallel.attention == MATH, scores, 0.0)
    return result


def _softmax_bytes(batch: Batch, each: Formats) -> Array:
    kind = batch.software.plain_kind
    wide = (kind != EAGER) | (each.autocast > 0)
    result: Array = np.where(wide, FP32, each.compute)
    return result


def _kept_scores(batch: Batch, each: Formats) -> Array:
    """Bytes per score that plain attention keeps, with its dropout's mask and result."""
    software = batch.software
    softmax = _softmax_bytes(batch, each)
    cast = np.where(softmax != each.compute, each.compute, 0.0)
    composed = softmax + np.where(software.dropout > 0, 1 + each.compute, cast)
    result: Array = np.where(software.plain_kind == DECODED, FP32, composed)
    return result


def _score_gradients(batch: Batch, each: Formats) -> Array:
    """Bytes per score that going back through plain attention adds."""
    softmax = _softmax_bytes(batch, each)
    composed = np.where(softmax == each.compute, 2 * each.compute, 2 * softmax - each.compute)
    result: Array = np.where(batch.software.plain_kind == DECODED, 2 * FP32, composed)
    return result


def _recomputed(
    batch: Batch, each: Formats, whole: Array, dropped: Array, entry: Array, ffn: FeedForward
) -> tuple[Array, Array]:
    """(kept, brought back) under the batch's recomputation."""
    kind = batch.parallel.recompute
    if not kind.any():
        return whole, np.zeros(1)
    held_entry = np.where(
        (batch.software.norm_eager > 0) & (each.stream != FP32), 0.0, entry
    )  # an eager RMSNorm in 16 bits keeps an FP32 copy beside the layer's input
    kept = np.where(kind == FULL, entry, whole)
    again = np.where(kind == FULL, whole - held_entry, 0.0)
    if (kind == SELECTIVE).any():
        operations = batch.recipe.selective_ops > 0
        outputs = entry + _selected_outputs(batch, each, ffn)
        part = np.where(operations, outputs, whole - dropped)
        back = np.where(operations, whole - held_entry - (outputs - entry), dropped)
        kept = np.where(kind == SELECTIVE, part, kept)
        again = np.where(kind == SELECTIVE, back, again)
    return kept, np.maximum(again, 0.0)


def _selected_outputs(batch: Batch, each: Formats, ffn: FeedForward) -> Array:
    """Attention's output and every second matrix product's."""
    blocks, tp = batch.shape.blocks, batch.parallel.tp
    query = blocks.heads * blocks.head_dim / tp
    own = np.maximum(blocks.kv_heads, tp) / tp
    fused = batch.software.qkv_fused > 0
    split_in = query + own * blocks.v_head_dim
    fused_in = query + own * (blocks.head_dim + blocks.v_head_dim)
    core = each.compute * blocks.heads * blocks.v_head_dim / tp + FP32 * blocks.heads / tp
    core = np.where(batch.parallel.attention == MATH, 0.0, core)
    products = np.where(fused, fused_in, split_in) + ffn.selected
    result: Array = core + each.compute * products
    return result
