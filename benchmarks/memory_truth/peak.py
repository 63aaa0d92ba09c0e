"""Closed form of a step's peak: the highest of its phases."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.memory_truth import saved, weights
from benchmarks.memory_truth.case import Case
from benchmarks.memory_truth.logits import backward_logit_bytes, forward_logit_bytes, kept

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
        layers_backward=_layers_backward(case),
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


def _layers(case: Case) -> float:
    """What all layers keep. Nothing before the first adapter needs a gradient."""
    first = case.task == "lora" and not _is_recomputed(case)
    unneeded = case.tokens * saved.norm_bytes(case) if first else 0
    return case.layers * saved.layer_bytes(case) - unneeded


def _casts(case: Case, layers: int) -> float:
    """Cached casts of the weights of `layers` layers."""
    return layers * weights.cast_bytes_per_layer(case)


def _is_recomputed(case: Case) -> bool:
    return case.recompute in ("full", "selective-ops")


def _head_input(case: Case, backward: bool) -> float:
    """Final norm and the hidden states that the output layer reads.

    A frozen matrix does not keep them; chunks keep them as they are; under autocast the matrix
    keeps its 16-bit copy and the FP32 original ends with the forward pass.
    """
    stream, compute = saved.stream_bytes(case), saved.compute_bytes(case)
    original = stream if not backward or case.loss == "chunked" else 0
    cast = compute if case.task == "full" and case.loss != "chunked" else 0
    width = max(original, cast) if stream == compute else original + cast
    return case.tokens * (saved.norm_bytes(case) + case.hidden * width)


def _head_forward(case: Case) -> float:
    logits = forward_logit_bytes(case)
    casts = weights.head_cast_bytes(case)
    frozen = case.task == "lora" and _is_recomputed(case)  # only trainable casts are cached
    casts += 0 if frozen else _casts(case, case.layers)
    return _standing(case) + _layers(case) + _head_input(case, backward=False) + casts + logits


def _head_backward(case: Case) -> float:
    layers = _layers(case)
    if not _is_recomputed(case):
        layers += _casts(case, case.layers)
    head = _head_input(case, backward=True) + backward_logit_bytes(case)
    return _standing(case) + layers + head


def _layers_backward(case: Case) -> float:
    moments = (
        _final_norm_back(case),
        _one_layer_back(case, done=0),
        _one_layer_back(case, done=case.layers - 1),
        _end_of_backward(case),
    )
    return _standing(case) + kept(case) + max(moments)


def _final_norm_back(case: Case) -> float:
    """The final norm goes back while all layers still keep everything."""
    casts = 0 if _is_recomputed(case) else _casts(case, case.layers)
    own = case.tokens * (saved.norm_bytes(case) + _norm_back(case))
    return _head_gradient(case) + _layers(case) + casts + own


def _norm_back(case: Case) -> float:
    """Gradients inside a norm per token: out and in, or the five FP32 copies of a composed one."""
    if case.norm == "rmsnorm-eager":
        return 5 * saved.FP32 * case.hidden
    return 2 * saved.stream_bytes(case) * case.hidden


def _one_layer_back(case: Case, done: int) -> float:
    """While the layer before which `done` others went back is at its highest."""
    left = case.layers - done
    gradients = _head_gradient(case) + done * _layer_gradient(case)
    recomputed = _recomputed(case) + (_casts(case, 1) if _is_recomputed(case) else 0)
    kept_casts = 0 if _is_recomputed(case) else _casts(case, left)
    layers = left * saved.layer_bytes(case) + kept_casts + recomputed
    return gradients + layers + max(_ffn_back(case), _attention_back(case))


def _fresh_gradient_bytes(case: Case) -> int:
    """Bytes per weight that a backward pass adds to the standing gradients and keeps."""
    if case.precision == "bf16-master" or case.accumulation > 1:
        return 0
    return weights.gradient_bytes_per_param(case)


def _head_gradient(case: Case) -> float:
    if case.task == "lora":
        return 0
    if case.tied:  # waits for the embedding's share in the format of the pass
        return case.vocab * case.hidden * weights.WEIGHT_BYTES[case.precision]
    return case.vocab * case.hidden * _fresh_gradient_bytes(case)


def _layer_gradient(case: Case) -> float:
    return weights.layer_trainable_params(case) * _fresh_gradient_bytes(case)


def _recomputed(case: Case) -> float:
    """What recomputation brings back on top of what a layer kept."""
    whole = case.tokens * saved.unrecomputed_bytes_per_token(case)
    if case.recompute == "none":
        return 0
    if case.recompute == "selective-attention":
        return case.tokens * saved.recomputed_core_bytes_per_token(case)
    keeps_input = case.norm != "rmsnorm-eager" or saved.stream_bytes(case) == saved.FP32
    shared = case.tokens * saved.stream_bytes(case) * case.hidden if keeps_input else 0
    if case.recompute == "selective-ops":
        shared += saved.layer_bytes(case) - case.tokens * saved.stream_bytes(case) * case.hidden
    return whole - shared


def _ffn_back(case: Case) -> float:
    """Gradients inside the feed-forward network, beside the residual's, at its highest moment."""
    stream, compute = saved.stream_bytes(case), saved.compute_bytes(case)
    width = case.top_k * case.expert_hidden if case.n_experts else case.ffn_hidden
    inner = {"swiglu": 2, "gelu-composed": 2, "swiglu-fused": 1, "gelu": 1}[case.mlp_kind] * compute
    if case.lora_targets == "all-linear":  # gradients of base and adapter, and their sum
        inner = max(inner, 2 * compute, _adapter_recompute(case))
    residual = case.hidden * stream * (2 if case.dropout else 1)
    down = weights.down_params(case) * _fresh_gradient_bytes(case)
    routed = case.top_k * case.hidden  # elements that experts return per token
    at_product = case.tokens * (residual + inner * width) + down
    if not case.n_experts:
        return max(at_product, _ffn_end(case, width, case.hidden))
    weighted = case.tokens * (residual + 3 * stream * routed)
    at_product -= case.tokens * (compute + stream) * routed
    return max(weighted, at_product, _ffn_end(case, width, routed))


def _adapter_recompute(case: Case) -> int:
    """Bytes per element of the inner width while an FP32 adapter's output is added again.

    Product, scaled product and sum are FP32 beside the base's output; later tensors are missing.
    """
    if not _is_recomputed(case) or not saved.casts_to_adapter(case):
        return 0
    later = {"swiglu": 3, "swiglu-fused": 1, "gelu-composed": 4, "gelu": 1}[case.mlp_kind]
    compute = saved.compute_bytes(case)
    return 3 * saved.FP32 + compute - later * compute - saved.FP32


def _ffn_end(case: Case, width: int, read: int) -> float:
    """When its last matrix has its gradient: `read` elements per token went into the network."""
    stream, compute = saved.stream_bytes(case), saved.compute_bytes(case)
    gradients = _fresh_gradient_bytes(case) * weights.ffn_trainable_params(case)
    alive = 2 * stream * case.hidden + compute * (width + 3 * read)
    return gradients + case.tokens * (alive - saved.ffn_bytes_per_token(case))


def _attention_back(case: Case) -> float:
    """The same while attention goes back: the feed-forward part and its norm are gone by then."""
    gone = saved.ffn_bytes_per_token(case) + saved.norm_bytes(case)
    stream, query = saved.stream_bytes(case), case.heads * case.head_dim
    if case.attention == "flash":  # gradients of the output, of q, k and v
        heads = saved.compute_bytes(case) * 2 * (query + saved.kv_width(case))
    else:  # values' gradient has replaced the values; the output is gone
        heads = (
            -saved.compute_bytes(case) * query + _score_gradients(case) * case.heads * case.seq_len
        )
    gradients = _fresh_gradient_bytes(case) * weights.ffn_trainable_params(case)
    return gradients + case.tokens * (stream * case.hidden + heads - gone)


def _score_gradients(case: Case) -> int:
    """Bytes per score above what composed attention keeps."""
    compute = saved.compute_bytes(case)
    if case.attention == "sdpa-math":
        return 2 * saved.FP32
    wide = case.attention == "eager-fp32-softmax" or case.precision == "bf16-autocast"
    softmax = saved.FP32 if wide else compute
    if softmax == compute:
        return compute if case.dropout else 2 * compute
    return 2 * softmax - compute


def _end_of_backward(case: Case) -> float:
    """All gradients; a tied matrix is summed from the output layer's share and the input's."""
    if case.task == "lora":
        return weights.trainable_params(case) * _fresh_gradient_bytes(case)
    gradients = weights.trainable_params(case) * _fresh_gradient_bytes(case)
    matrix = case.vocab * case.hidden * weights.WEIGHT_BYTES[case.precision]
    stream = case.tokens * saved.stream_bytes(case) * case.hidden
    if not case.tied:
        standing = _fresh_gradient_bytes(case) == 0
        return gradients + stream + (matrix if standing else 0)
    own = case.vocab * case.hidden * _fresh_gradient_bytes(case)
    return gradients - own + 3 * matrix


def _optimizer(case: Case) -> float:
    own = weights.weight_bytes(case) + weights.gradient_bytes(case) + weights.optimizer_bytes(case)
    return own + weights.step_temporary_bytes(case) + 2 * TOKEN_BYTES * case.tokens
