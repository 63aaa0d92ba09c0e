"""Closed forms of the moments at which the layers' backward pass can be highest."""

from __future__ import annotations

from benchmarks.memory_truth import saved, weights
from benchmarks.memory_truth.case import Case
from benchmarks.memory_truth.logits import kept


def layers_bytes(case: Case) -> float:
    """What all layers keep. Nothing before the first adapter needs a gradient."""
    first = case.task == "lora" and not is_recomputed(case)
    unneeded = case.tokens * saved.norm_bytes(case) if first else 0
    return case.layers * saved.layer_bytes(case) - unneeded


def casts_bytes(case: Case, layers: int) -> float:
    """Cached casts of the weights of `layers` layers."""
    return layers * weights.cast_bytes_per_layer(case)


def is_recomputed(case: Case) -> bool:
    """Whether a layer goes through its forward pass again."""
    return case.recompute in ("full", "selective-ops")


def highest(case: Case) -> float:
    """Highest above what stands all through the step, while the layers go back."""
    moments = (
        _final_norm_back(case),
        _one_layer_back(case, done=0),
        _one_layer_back(case, done=case.layers - 1),
        _end_of_backward(case),
    )
    return kept(case) + max(moments)


def _final_norm_back(case: Case) -> float:
    """The final norm goes back while all layers still keep everything."""
    casts = 0 if is_recomputed(case) else casts_bytes(case, case.layers)
    own = case.tokens * (saved.norm_bytes(case) + _norm_back(case))
    return _head_gradient(case) + layers_bytes(case) + casts + own


def _norm_back(case: Case) -> float:
    """Gradients inside a norm per token: out and in, or the five FP32 copies of a composed one."""
    if case.norm == "rmsnorm-eager":
        return 5 * saved.FP32 * case.hidden
    return 2 * saved.stream_bytes(case) * case.hidden


def _one_layer_back(case: Case, done: int) -> float:
    """While the layer before which `done` others went back is at its highest."""
    left = case.layers - done
    gradients = _head_gradient(case) + done * _layer_gradient(case)
    recomputed = _recomputed(case) + (casts_bytes(case, 1) if is_recomputed(case) else 0)
    kept_casts = 0 if is_recomputed(case) else casts_bytes(case, left)
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
    if not is_recomputed(case) or not saved.casts_to_adapter(case):
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
