"""Closed form of a step's peak: the highest of its phases."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.memory_truth import backward, saved, weights
from benchmarks.memory_truth.case import Case
from benchmarks.memory_truth.logits import backward_logit_bytes, forward_logit_bytes

TOKEN_BYTES = 8  # an index of the vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """Highest live bytes of each phase of one step."""

    head_forward: float
    head_backward: float
    layers_backward: float
    optimizer: float

    @property
    def step(self) -> float:
        """Highest of all."""
        return max(self.head_forward, self.head_backward, self.layers_backward, self.optimizer)


def peak(case: Case) -> Peak:
    """Bytes at the highest moment of every phase."""
    return Peak(
        head_forward=_head_forward(case),
        head_backward=_head_backward(case),
        layers_backward=_standing(case) + backward.highest(case),
        optimizer=_optimizer(case),
    )


def _standing(case: Case) -> float:
    """Alive all through the step."""
    standing = weights.weight_bytes(case) + weights.optimizer_bytes(case)
    if case.precision == "bf16-master" or case.accumulation > 1:
        standing += weights.gradient_bytes(case)
    return standing + 2 * TOKEN_BYTES * case.tokens + _shared(case)


def _shared(case: Case) -> float:
    """Rotary tables and mask, one for all layers."""
    element = saved.stream_bytes(case)
    tables = 2 * case.head_dim * case.seq_len if case.positions == "rotary" else 0
    mask = case.seq_len**2 if case.attention.startswith("eager") else 0
    return element * (tables + mask)


def _head_forward(case: Case) -> float:
    """Final norm, hidden states, their 16-bit copy under autocast, logits."""
    stream, compute = saved.stream_bytes(case), saved.compute_bytes(case)
    copied = case.task == "full" and case.loss != "chunked" and stream != compute
    hidden = stream + (compute if copied else 0)
    own = case.tokens * (saved.norm_bytes(case) + case.hidden * hidden)
    frozen = case.task == "lora" and backward.is_recomputed(case)  # only trainable casts are cached
    casts = 0 if frozen else backward.casts_bytes(case, case.layers)
    casts += weights.head_cast_bytes(case)
    return _standing(case) + backward.layers_bytes(case) + casts + own + forward_logit_bytes(case)


def _head_backward(case: Case) -> float:
    """The loss goes back while all layers still keep everything."""
    layers = backward.layers_bytes(case)
    if not backward.is_recomputed(case):
        layers += backward.casts_bytes(case, case.layers)
    own = case.tokens * (saved.norm_bytes(case) + case.hidden * _hidden_bytes(case))
    return _standing(case) + layers + own + backward_logit_bytes(case)


def _hidden_bytes(case: Case) -> int:
    """Per element of the hidden states that the output layer keeps.

    Chunks keep them as they are, a trained matrix in its own format, a frozen one not at all.
    """
    if case.loss == "chunked":
        return saved.stream_bytes(case)
    return saved.compute_bytes(case) if case.task == "full" else 0


def _optimizer(case: Case) -> float:
    own = weights.weight_bytes(case) + weights.gradient_bytes(case) + weights.optimizer_bytes(case)
    return own + weights.step_temporary_bytes(case) + 2 * TOKEN_BYTES * case.tokens
