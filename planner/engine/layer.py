"""Seconds of one layer for one micro-batch on one device, by part and direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.choices import ATTENTIONS, RECOMPUTES
from planner.engine.collectives import (
    all_reduce_seconds,
    bus_rate,
    context_group,
    exchange_seconds,
    tensor_group,
)
from planner.engine.constants import Constants
from planner.engine.operations import (
    attention_flops,
    expert_input,
    layer_products,
    score_elements,
    tokens,
)
from planner.engine.rates import Rates, flash_rate, product_seconds

Array = np.ndarray[Any, np.dtype[Any]]

MATH = ATTENTIONS.index("sdpa-math")
SELECTIVE, FULL = RECOMPUTES.index("selective"), RECOMPUTES.index("full")

BACKWARD_FLASH = 2.5  # five products instead of two (Dao 2023, section 3)
BACKWARD_ELEMENTWISE = 1.7  # reads the saved input and the gradient, writes the gradient


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSeconds:
    """One layer, one micro-batch, one device; each (g, n), forward and backward apart."""

    products_forward: Array
    products_backward: Array
    attention_forward: Array
    attention_backward: Array
    elementwise_forward: Array
    elementwise_backward: Array
    routing_forward: Array
    routing_backward: Array
    tensor_comm: Array  # exposed, one pass (forward or backward)
    context_comm: Array
    expert_comm: Array
    recompute: Array  # forward work repeated in the backward pass, without its collectives
    recompute_comm: Array


def layer_seconds(batch: Batch, sustained: Rates, c: Constants) -> LayerSeconds:
    """Every part of one layer on machines of these sustained rates."""
    products = layer_products(batch)
    forward = sum((product_seconds(each, batch, sustained, c) for each in products), np.zeros(1))
    attention_forward, attention_backward = _attention(batch, sustained, c)
    elementwise = _elementwise_bytes(batch, c) / sustained.memory
    routing = _routing_bytes(batch, c) / sustained.memory
    tensor, expert = _tensor_comm(batch, c), _expert_comm(batch, c)
    full = batch.parallel.recompute == FULL
    return LayerSeconds(
        products_forward=forward,
        products_backward=forward * np.where(batch.recipe.adapters > 0, 1.0, 2.0),
        attention_forward=attention_forward,
        attention_backward=attention_backward,
        elementwise_forward=elementwise,
        elementwise_backward=elementwise * BACKWARD_ELEMENTWISE,
        routing_forward=routing,
        routing_backward=routing,
        tensor_comm=tensor,
        context_comm=_context_comm(batch, attention_forward, c),
        expert_comm=expert,
        recompute=_recompute(batch, forward + elementwise, attention_forward, routing, c),
        recompute_comm=np.where(full, tensor + expert, 0.0),
    )


def _attention(batch: Batch, sustained: Rates, c: Constants) -> tuple[Array, Array]:
    flops = attention_flops(batch)
    flash = flops / flash_rate(batch, c)
    if not (batch.parallel.attention == MATH).any():
        return flash, flash * BACKWARD_FLASH
    scores = score_elements(batch) * batch.recipe.activation_bytes / sustained.memory
    products = flops / sustained.activation
    plain = batch.parallel.attention == MATH
    return (
        np.where(plain, products + c.score_passes_forward * scores, flash),
        np.where(plain, 2 * products + c.score_passes_backward * scores, flash * BACKWARD_FLASH),
    )


def _elementwise_bytes(batch: Batch, c: Constants) -> Array:
    """Bytes that norms, rotary, activation and residual additions move, forward, (g, n).

    Passes over T·h: two norms read and write (4), two residual additions (6). Without sequence
    parallelism every tensor-parallel rank repeats them. Rotary passes over queries and keys, a
    state-space scan over its inner width, the activation over the feed-forward width.
    """
    blocks, parallel, recipe = batch.shape.blocks, batch.parallel, batch.recipe
    m = tokens(batch)
    split = np.where(parallel.sequence_parallel > 0, parallel.tp, 1)
    stream = 10 * batch.shape.hidden / split
    rotary = 2 * (blocks.heads + blocks.kv_heads) * blocks.head_dim / parallel.tp
    scan = c.scan_passes * blocks.heads * blocks.v_head_dim / parallel.tp
    mixing = np.where(blocks.state_space > 0, scan, rotary)
    width = blocks.ffn_hidden + blocks.shared_hidden + blocks.top_k * blocks.expert_hidden
    activation = (2 + blocks.gated) * width / parallel.tp
    software = elementwise_factor(batch, c)
    result: Array = m * (stream + mixing + activation) * recipe.activation_bytes * software
    return result


def elementwise_factor(batch: Batch, c: Constants) -> Array:
    """What a stack's kernels move against the counted bytes: separate, fused, or compiled, (n,)."""
    parallel, recipe = batch.parallel, batch.recipe
    software = np.where(recipe.eager > 0, c.elementwise_eager, c.elementwise)
    fused = (parallel.compile > 0) | (recipe.native > 0)
    result: Array = np.where(fused, c.elementwise_compiled, software)
    return result


def _routing_bytes(batch: Batch, c: Constants) -> Array:
    """Bytes to permute tokens to their experts and back, one pass, (g, n)."""
    blocks = batch.shape.blocks
    if not blocks.top_k.any():
        return np.zeros(1)
    rows = tokens(batch) * blocks.top_k * expert_input(batch) / batch.parallel.tp
    result: Array = c.expert_passes * rows * batch.recipe.activation_bytes
    return result


def _tensor_comm(batch: Batch, c: Constants) -> Array:
    """Two all-reduces of the residual stream a pass (or gather and scatter: the same volume)."""
    if not (batch.parallel.tp > 1).any():
        return np.zeros(1)
    size = tokens(batch) * batch.shape.hidden * batch.recipe.activation_bytes
    both = 2 * all_reduce_seconds(size, tensor_group(batch), batch, c)
    hidden = np.where(batch.recipe.overlap_tensor > 0, c.tensor_hidden, 0.0)
    result: Array = both * (1 - hidden)
    return result


def _context_comm(batch: Batch, attention: Array, c: Constants) -> Array:
    """Keys and values travel round the ring beside the attention of the blocks at hand."""
    blocks, parallel = batch.shape.blocks, batch.parallel
    if not (parallel.cp > 1).any():
        return np.zeros(1)
    width = blocks.kv_heads * (blocks.head_dim + blocks.v_head_dim) / parallel.tp
    size = tokens(batch) * width * batch.recipe.activation_bytes * (parallel.cp - 1)
    seconds = size / bus_rate(context_group(batch), batch, c)
    exposed = np.maximum(seconds - attention, 0) + c.gather_floor * np.minimum(seconds, attention)
    result: Array = np.where(parallel.cp > 1, exposed, 0.0)
    return result


def _expert_comm(batch: Batch, c: Constants) -> Array:
    """Dispatch and combine of one pass; tensor ranks share a token's row."""
    blocks = batch.shape.blocks
    if not blocks.num_experts.any():
        return np.zeros(1)
    size = tokens(batch) * expert_input(batch) * batch.recipe.activation_bytes / batch.parallel.tp
    both = 2 * exchange_seconds(size, np.maximum(blocks.top_k, 1), batch, c)
    both = both * (1 - c.expert_hidden * batch.recipe.expert_overlap)
    result: Array = np.where(blocks.num_experts > 0, both, 0.0)
    return result


def _recompute(
    batch: Batch, linear: Array, attention: Array, routing: Array, c: Constants
) -> Array:
    """Full: the whole forward pass again. Selective: attention, and a share of the rest where
    flash attention already leaves nothing quadratic to drop."""
    if not batch.parallel.recompute.any():
        return np.zeros(1)
    plain = batch.parallel.attention == MATH
    share = np.where(plain, 0.0, c.selective * batch.recipe.selective_ops)
    selective = attention + share * linear
    kind = batch.parallel.recompute
    result: Array = np.where(
        kind == FULL, linear + attention + routing, np.where(kind == SELECTIVE, selective, 0.0)
    )
    return result
