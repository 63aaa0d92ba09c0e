"""Closed forms of what output layer and loss hold, in bytes."""

from __future__ import annotations

import math

from benchmarks.memory_truth import saved, weights
from benchmarks.memory_truth.case import Case

NUM_CHUNKS = 8  # of tokens: torchtitan's and torchtune's usual number
FP32 = 4  # bytes


def num_logits(case: Case) -> int:
    """Logits of one micro-step."""
    return case.tokens * case.vocab


def forward_logit_bytes(case: Case) -> float:
    """Highest in the forward pass."""
    compute, logits = saved.compute_bytes(case), num_logits(case)
    model_format = 2 * compute if case.precision != "bf16-autocast" else compute + 2 * FP32
    if case.loss == "fused-linear":
        return _fused_linear(case)
    per_logit = {
        "eager": 2 * FP32,
        "eager-held": 3 * FP32,
        "model-format": model_format,
        "vocab-parallel": 2 * FP32,
        "compiled": compute,
        "fused": compute,
        "chunked": 2 * FP32 / NUM_CHUNKS,
    }
    return per_logit[case.loss] * logits


def kept(case: Case) -> float:
    """Logits that the training loop still holds while the layers go back."""
    return FP32 * num_logits(case) if case.loss == "eager-held" else 0


def backward_logit_bytes(case: Case) -> float:
    """Highest in the backward pass: in the loss itself, or at the weight's gradient."""
    return max(_in_loss(case), _at_weight_gradient(case)) + kept(case)


def _in_loss(case: Case) -> float:
    compute = saved.compute_bytes(case)
    wide = 3 * FP32
    model_format = 3 * compute if case.precision != "bf16-autocast" else wide
    per_logit = {
        "eager": wide,
        "eager-held": wide,
        "model-format": model_format,
        "vocab-parallel": FP32 + (compute if compute != FP32 else 0),
        "compiled": 2 * compute,
        "fused": compute,
        "chunked": wide / NUM_CHUNKS,
        "fused-linear": 0,
    }
    chunks = _earlier_chunks(case) if case.loss == "chunked" else 0
    held = weights.head_cast_bytes(case)
    return per_logit[case.loss] * num_logits(case) + chunks + held


def _earlier_chunks(case: Case) -> float:
    """Gradients of the chunks that went back before."""
    hidden = saved.stream_bytes(case) * case.tokens * case.hidden * (NUM_CHUNKS - 1) / NUM_CHUNKS
    return hidden + (_matrix(case, 1) if case.task == "full" else 0)


def _at_weight_gradient(case: Case) -> float:
    """Logit gradients, hidden gradients and those of the output matrix, each in its format."""
    compute, cast = saved.compute_bytes(case), weights.head_cast_bytes(case)
    hidden = compute * case.tokens * case.hidden
    if case.loss == "fused-linear":
        return hidden + cast + (_matrix(case, 1) if case.task == "full" else 0)
    logits = compute * num_logits(case) / (NUM_CHUNKS if case.loss == "chunked" else 1)
    if case.task == "lora":
        return logits + hidden + cast
    at_product = logits + hidden + cast + _matrix(case, 2 if case.loss == "chunked" else 1)
    if case.loss == "chunked":
        return max(at_product, hidden + _matrix(case, 3))  # the sum of two is a third
    widened = hidden + _matrix(case, 1) + FP32 * case.vocab * case.hidden
    return max(at_product, widened if cast else 0)


def _matrix(case: Case, copies: int) -> float:
    """Gradients of the output matrix in the format of the products."""
    return copies * saved.compute_bytes(case) * case.vocab * case.hidden


def _fused_linear(case: Case) -> float:
    compute = saved.compute_bytes(case)
    gradients = _matrix(case, 2) if case.task == "full" else 0
    chunk = fused_linear_chunk_tokens(case.tokens, case.hidden, case.vocab)
    return compute * (chunk * case.vocab + case.tokens * case.hidden) + gradients


def fused_linear_chunk_tokens(tokens: int, hidden: int, vocab: int) -> int:
    """Tokens whose logits live at once in Liger's fused output layer and loss.

    The next power of two of T / ⌈V / h⌉, as its kernel chooses.

    >>> fused_linear_chunk_tokens(tokens=4096, hidden=4096, vocab=128256)
    128
    """
    share = math.ceil(tokens / math.ceil(vocab / hidden))
    return min(tokens, 1 << (share - 1).bit_length())
