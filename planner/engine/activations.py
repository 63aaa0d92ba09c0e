"""Bytes that the forward pass keeps for the backward pass, counted tensor by tensor.

Per layer, micro-batch and device, arrays (g, n). The counts are those of PyTorch's autograd: each
operation keeps the inputs its derivative needs, a tensor kept by two operations counts once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.choices import ATTENTIONS, LOSSES, RECOMPUTES
from planner.engine.constants import Constants
from planner.engine.operations import score_elements, tokens

Array = np.ndarray[Any, np.dtype[Any]]

MATH = ATTENTIONS.index("sdpa-math")
SELECTIVE, FULL = RECOMPUTES.index("selective"), RECOMPUTES.index("full")


def stream_split(batch: Batch) -> Array:
    """Ranks that share the residual stream: the tensor group under sequence parallelism."""
    parallel = batch.parallel
    result: Array = np.where(parallel.sequence_parallel > 0, parallel.tp, 1)
    return result


def layer_input_bytes(batch: Batch) -> Array:
    """The residual stream at a layer's entry: all that full recomputation keeps."""
    width = batch.shape.hidden * batch.recipe.activation_bytes / stream_split(batch)
    result: Array = tokens(batch) * width
    return result


def layer_bytes(batch: Batch, c: Constants) -> Array:
    """Everything one layer keeps without recomputation."""
    m = tokens(batch)
    result: Array = m * (_stream(batch, c) + _attention(batch) + _ffn(batch)) + _scores(batch)
    return result


def _stream(batch: Batch, c: Constants) -> Array:
    """Inputs and outputs of the two norms, with statistics; more where norms run in FP32."""
    norms = np.where(batch.recipe.eager > 0, c.stream_tensors_eager, c.stream_tensors)
    width = batch.shape.hidden * batch.recipe.activation_bytes / stream_split(batch)
    result: Array = norms * width
    return result


def _attention(batch: Batch) -> Array:
    """Queries, keys, values, output and the log-sum-exp of each head."""
    blocks, tp, size = batch.shape.blocks, batch.parallel.tp, batch.recipe.activation_bytes
    kv_heads = np.maximum(blocks.kv_heads, tp)
    latent = (blocks.q_lora_rank + blocks.kv_lora_rank + blocks.rope_head_dim) * 2
    heads = np.where(blocks.kv_lora_rank > 0, blocks.heads, kv_heads)
    width = blocks.heads * (blocks.head_dim + blocks.v_head_dim) + heads * (
        blocks.head_dim + blocks.v_head_dim
    )
    cross = 1 + blocks.cross_attention
    result: Array = (width * cross * size + 4 * blocks.heads) / tp + latent * size
    return result


def _ffn(batch: Batch) -> Array:
    """Gated: gate, up, activated gate and product. Plain: the activation's input and output."""
    blocks, tp, size = batch.shape.blocks, batch.parallel.tp, batch.recipe.activation_bytes
    tensors = np.where(blocks.gated > 0, 4.0, 2.0)
    dense = tensors * (blocks.ffn_hidden + blocks.shared_hidden) / tp
    routed = blocks.top_k * (tensors * blocks.expert_hidden / tp + 2 * batch.shape.hidden)
    router = 3 * blocks.num_experts * 4
    result: Array = (dense + routed) * size + router
    return result


def _scores(batch: Batch) -> Array:
    """Plain attention keeps the softmax (and the scores for its mask and scale), 16-bit."""
    plain = batch.parallel.attention == MATH
    if not np.any(plain):
        return np.zeros(1)
    per_score = 2 * batch.recipe.activation_bytes + 1
    result: Array = np.where(plain, score_elements(batch) * per_score, 0.0)
    return result


def kept_layer_bytes(batch: Batch, c: Constants) -> Array:
    """What one layer keeps under the batch's recomputation."""
    whole, entry = layer_bytes(batch, c), layer_input_bytes(batch)
    kind = batch.parallel.recompute
    selective = (whole - _scores(batch)) * (1 - c.selective_saving)
    result: Array = np.where(kind == FULL, entry, np.where(kind == SELECTIVE, selective, whole))
    return result


def logit_bytes(batch: Batch, c: Constants) -> Array:
    """Bytes of all logit-sized tensors alive at the peak of the loss, per device, (n,)."""
    parallel = batch.parallel
    per_logit = np.array([getattr(c, _PER_LOGIT[word]) for word in LOSSES])[parallel.loss]
    logits = parallel.micro_batch * parallel.seq_len / parallel.cp * batch.shape.vocab / parallel.tp
    result: Array = logits * per_logit
    return result


_PER_LOGIT = {
    "eager": "logit_eager",
    "fused": "logit_fused",
    "chunked": "logit_chunked",
    "vocab-parallel": "logit_vocab_parallel",
}
