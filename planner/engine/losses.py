"""Bytes that the output layer and the loss hold, by how the loss is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.activations import Formats, norm_bytes, stream_width
from planner.engine.batch import Batch
from planner.engine.choices import LOSSES

Array = np.ndarray[Any, np.dtype[Any]]

NUM_CHUNKS = 8  # of a chunked loss: torchtune's and torchtitan's number
FP32 = 4.0  # bytes

# how the logits are handled; a loss of the run file and the software's habit select the row
KINDS = (
    "float",
    "float-held",
    "model",
    "compiled",
    "fused",
    "checkpointed",
    "listed",
    "fused-linear",
    "vocab-parallel",
)
# bytes per logit = fixed + scaled · (bytes of the compute format)
_FORWARD = ((8, 12, 0, 0, 0, 8 / NUM_CHUNKS, 0, 0, 8), (0, 0, 2, 1, 1, 0, 2, 0, 0))
_BACKWARD = ((12, 16, 0, 0, 0, 12 / NUM_CHUNKS, 0, 0, 4), (0, 0, 3, 2, 1, 0, 2, 0, 1))
_HELD = ((0, 4, 0, 0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0, 1, 0, 0))
_TABLES = {
    name: (np.array(fixed, dtype=np.float64), np.array(scaled, dtype=np.float64))
    for name, (fixed, scaled) in (("f", _FORWARD), ("b", _BACKWARD), ("h", _HELD))
}
_EAGER, _FUSED, _CHUNKED, _VOCAB = (
    LOSSES.index(word) for word in ("eager", "fused", "chunked", "vocab-parallel")
)
MODEL, FLOAT = KINDS.index("model"), KINDS.index("float")
CHECKPOINTED, FUSED_LINEAR = KINDS.index("checkpointed"), KINDS.index("fused-linear")
VOCAB_PARALLEL = KINDS.index("vocab-parallel")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadBytes:
    """On a device that holds the output layer, bytes for one micro-batch, (n,) each."""

    hidden: Array  # final norm and the hidden states that the output layer reads
    forward: Array  # logits at their highest in the forward pass
    backward: Array  # logits or the weight's gradient at their highest in the backward pass
    held: Array  # logits that stay while the layers go back


def head_bytes(batch: Batch, each: Formats) -> HeadBytes:
    """Output layer and loss of one micro-batch."""
    parallel, shape = batch.parallel, batch.shape
    tokens = parallel.micro_batch * parallel.seq_len / parallel.cp
    logits = tokens * shape.vocab / parallel.tp
    kind = loss_kind(batch)
    per_logit = {name: _per_logit(name, kind, each) for name in "fbh"}
    matrix = each.compute * shape.vocab * shape.hidden / parallel.tp * (batch.software.frozen == 0)
    matrix = matrix * (batch.software.accumulates_in_product == 0)
    hidden = each.compute * tokens * shape.hidden
    held = per_logit["h"] * logits
    inside = per_logit["b"] * logits + np.where(kind == CHECKPOINTED, matrix, 0.0)
    at_weight = _at_weight_gradient(batch, each, kind, logits, hidden, matrix)
    forward = per_logit["f"] * logits
    if (kind == FUSED_LINEAR).any():
        linear = _fused_linear(batch, each, tokens, hidden, matrix)
        forward = np.where(kind == FUSED_LINEAR, linear, forward)
    width = stream_width(batch)
    copies = each.stream * width + np.where(each.autocast > 0, each.compute * width, 0.0)
    return HeadBytes(
        hidden=tokens * (norm_bytes(batch, each.stream, width) + copies),
        forward=forward,
        backward=np.maximum(inside, at_weight + held),
        held=held,
    )


def loss_kind(batch: Batch) -> Array:
    """The row of `KINDS` of each candidate, (n,) of int."""
    loss, software = batch.parallel.loss, batch.software
    eager = software.eager_logits.astype(np.int64)
    kind = np.where(loss == _EAGER, eager, KINDS.index("fused"))
    chunked = CHECKPOINTED + software.chunks.astype(np.int64)
    kind = np.where(loss == _CHUNKED, chunked, kind)
    result: Array = np.where(loss == _VOCAB, VOCAB_PARALLEL, kind)
    return result


def _per_logit(name: str, kind: Array, each: Formats) -> Array:
    fixed, scaled = _TABLES[name]
    result: Array = fixed[kind] + scaled[kind] * each.compute
    if (each.compute == FP32).any():  # FP32 logits need no cast
        same = (each.compute == FP32) & (kind == VOCAB_PARALLEL)
        result = np.where(same, fixed[kind], result)
    if name != "h" and each.autocast.any():
        cast = each.compute + 2 * FP32 if name == "f" else 3 * FP32
        result = np.where((kind == MODEL) & (each.autocast > 0), cast, result)
    return result


def _at_weight_gradient(
    batch: Batch, each: Formats, kind: Array, logits: Array, hidden: Array, matrix: Array
) -> Array:
    """Gradients of logits, hidden states and output matrix, each in its format."""
    whole = np.where(kind == FUSED_LINEAR, 0.0, each.compute * logits)
    result = whole + hidden + matrix
    if (kind == CHECKPOINTED).any():
        part = each.compute * logits / NUM_CHUNKS + hidden + 2 * matrix
        chunks = np.maximum(part, hidden + 3 * matrix)
        frozen = each.compute * logits / NUM_CHUNKS + hidden
        chunks = np.where(matrix > 0, chunks, frozen)
        result = np.where(kind == CHECKPOINTED, chunks, result)
    if each.autocast.any():
        widened = hidden + matrix + FP32 * matrix / each.compute
        result = np.where(each.autocast > 0, np.maximum(result, widened), result)
    highest: Array = result
    return highest


def _fused_linear(
    batch: Batch, each: Formats, tokens: Array, hidden: Array, matrix: Array
) -> Array:
    """One chunk of logits, gradients of the hidden states, two of the output matrix (Liger)."""
    shape = batch.shape
    share = np.ceil(tokens / np.maximum(np.ceil(shape.vocab / shape.hidden), 1))
    chunk = np.minimum(tokens, 2 ** np.ceil(np.log2(np.maximum(share, 1))))
    logits = each.compute * chunk * shape.vocab / batch.parallel.tp
    result: Array = logits + hidden + 2 * matrix
    return result
