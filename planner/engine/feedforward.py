"""Bytes that feed-forward networks and experts keep, and what going back through them needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.batch import Batch

Array = np.ndarray[Any, np.dtype[Any]]

FP32, INDEX = 4.0, 8.0  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedForward:
    """Per token and device, (g, n): bytes, but elements where it says so."""

    kept: Array
    back: Array  # gradients alive as the network goes back, the residual's included
    selected: Array  # elements that keeping every second matrix product keeps here


def feed_forward(batch: Batch, compute: Array, stream: Array, width: Array) -> FeedForward:
    """The dense network of a layer, or its router and experts; `width` is the stream's share."""
    blocks, software, tp = batch.shape.blocks, batch.software, batch.parallel.tp
    gated = blocks.gated > 0
    dense = (blocks.ffn_hidden + blocks.shared_hidden) / tp
    inner = np.where(gated, software.inner_gated, software.inner_plain)
    back_inner = np.where(gated, software.back_gated, software.back_plain)
    readers = np.where((compute != stream) & gated & (dense > 0), 2.0, 1.0)
    kept = compute * inner * dense + _inputs(batch, compute, readers, width, dense)
    back = stream * width + compute * back_inner * dense
    if software.dropout.any():
        back = back + software.dropout * stream * width
    if blocks.num_experts.any():
        sparse = blocks.num_experts > 0
        kept = np.where(sparse, kept + _experts(batch, compute, stream, width, inner), kept)
        routed = blocks.top_k * (stream * width + compute * back_inner * blocks.expert_hidden / tp)
        back = np.where(sparse, back + routed, back)
    selected = np.where(gated, dense + width, dense)
    return FeedForward(
        kept=kept,
        back=back,
        selected=np.where(blocks.num_experts > 0, blocks.num_experts, selected),
    )


def _inputs(batch: Batch, compute: Array, readers: Array, width: Array, dense: Array) -> Array:
    """Inputs of the first and of the last product: kept for gradients of weights or adapters."""
    software = batch.software
    trained: Array = compute * (readers * width + dense)
    if not software.frozen.any():
        return trained
    first = adapter_input(batch, software.adapters_ffn, width)
    last = adapter_input(batch, software.adapters_down, dense)
    adapted = first + last + _scaled(batch, compute, width)
    result: Array = np.where(software.frozen > 0, adapted, 0.0) + software.inputs_kept * trained
    return result


def adapter_input(batch: Batch, adapters: Array, width: Array) -> Array:
    """What `adapters` low-rank maps keep of one input: copies and narrow products."""
    software = batch.software
    copies = np.where(software.adapter_shared > 0, np.minimum(adapters, 1.0), adapters)
    narrow = adapters * software.adapter_bytes * software.adapter_rank
    result: Array = copies * software.adapter_bytes * width + narrow
    if software.adapter_dropout.any():  # a mask of one byte an element for each
        result = result + software.adapter_dropout * adapters * width
    return result


def _scaled(batch: Batch, compute: Array, width: Array) -> Array:
    """Outputs of all linear maps, where a learned scale needs them."""
    software, blocks, tp = batch.software, batch.shape.blocks, batch.parallel.tp
    if not software.scaled_outputs.any():
        return np.zeros(1)
    keys = blocks.kv_heads * (blocks.head_dim + blocks.v_head_dim)
    attention = (blocks.heads * blocks.head_dim + keys) / tp + width
    network = (1 + blocks.gated) * blocks.ffn_hidden / tp + width
    result: Array = software.scaled_outputs * compute * (attention + network)
    return result


def _experts(batch: Batch, compute: Array, stream: Array, width: Array, inner: Array) -> Array:
    """Router and routed experts with even routing: each device computes as many rows as it sends.

    The router keeps its FP32 probabilities and, per choice, weights and indices; each routed row
    keeps its input, what the expert keeps, and the result that its weight multiplies.
    """
    blocks, software, tp = batch.shape.blocks, batch.software, batch.parallel.tp
    trained = software.frozen == 0
    readers = np.where(compute != stream, 2.0, 1.0) * trained
    router = FP32 * blocks.num_experts + (3 * INDEX + 4 * FP32) * blocks.top_k
    expert = compute * (inner + trained) * blocks.expert_hidden / tp
    rows = compute * readers * width + expert + (compute + stream) * width
    result: Array = router + blocks.top_k * rows
    return result
