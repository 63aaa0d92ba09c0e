"""Closed form of what a layer keeps until its backward pass, in bytes per token."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.memory_truth.case import Case

FP32 = 4  # bytes
INDEX = 8  # bytes


def compute_bytes(case: Case) -> int:
    """Bytes per element that matrix products read and write."""
    return FP32 if case.precision == "fp32" else 2


def stream_bytes(case: Case) -> int:
    """Bytes per element of the residual stream; autocast leaves it in FP32."""
    return FP32 if case.precision in ("fp32", "bf16-autocast") else 2


def layer_bytes(case: Case) -> float:
    """Saved bytes of one layer, all tokens of a micro-step."""
    if case.recompute == "full":
        return case.tokens * stream_bytes(case) * case.hidden
    if case.recompute == "selective-ops":
        return case.tokens * _selected_outputs(case)
    return case.tokens * full_bytes_per_token(case)


def full_bytes_per_token(case: Case) -> float:
    """Without recomputation, or with the attention core recomputed."""
    masks = 2 * case.hidden if case.dropout else 0
    return 2 * norm_bytes(case) + _attention(case) + ffn_bytes_per_token(case) + masks


def unrecomputed_bytes_per_token(case: Case) -> float:
    """What the layer would keep if nothing were recomputed."""
    return full_bytes_per_token(replace(case, recompute="none"))


def compiled_bytes_per_token(case: Case) -> float:
    """What a compiled dense layer keeps: inputs and outputs of matrix products and little else.

    The attention branch's output stands for the residual in the middle, norms keep one 16-bit
    output for all their readers, activations are computed again.
    """
    compute, query = compute_bytes(case), case.heads * case.head_dim
    norms = 2 * (compute * case.hidden + FP32)
    residual = (stream_bytes(case) + compute) * case.hidden
    inner = 3 if case.mlp_kind.startswith("swiglu") else 2
    if case.attention == "sdpa-math":
        heads = FP32 * (3 * query + case.heads * case.seq_len) + compute * query
    else:
        keys = case.kv_heads * case.head_dim
        heads = compute * (2 * query + 2 * keys) + FP32 * case.heads
    return norms + residual + heads + inner * compute * case.ffn_hidden


def ffn_bytes_per_token(case: Case) -> float:
    """Of the feed-forward network or the experts, their input included."""
    return _experts(case) if case.n_experts else _dense(case)


def norm_bytes(case: Case) -> float:
    """Inside a norm; its output counts with the layers that read it."""
    stream = stream_bytes(case)
    if case.norm == "layernorm":
        return stream * case.hidden + 2 * stream  # on a GPU the statistics are FP32
    if case.norm == "rmsnorm-fused":
        return stream * case.hidden + FP32
    scaled = stream * case.hidden if case.task == "full" else 0  # for the weight's gradient
    return FP32 * case.hidden + scaled + FP32


def linear_inputs(case: Case, width: int, roles: tuple[str, ...]) -> float:
    """Saved by linear layers that read one tensor of the stream's format.

    Under autocast every layer keeps its own 16-bit copy. A frozen layer keeps nothing; its
    adapter keeps the input in the adapter's format and the narrow product.
    """
    compute, stream = compute_bytes(case), stream_bytes(case)
    if case.task == "full":
        return width * (compute if compute == stream else compute * len(roles))
    return sum_adapters(case, width, roles, shared=compute == stream)


def sum_adapters(case: Case, width: int, roles: tuple[str, ...], shared: bool) -> float:
    """Of the adapters among `roles`; a `shared` input is kept once if no cast is needed."""
    adapted = [role for role in roles if case.lora_targets == "all-linear" or role in ("q", "v")]
    if not adapted:
        return 0
    compute = compute_bytes(case)
    adapter = FP32 if case.lora_format == "fp32" and case.precision != "bf16-autocast" else compute
    copies = len(adapted) if adapter != compute or not shared else 1
    return copies * adapter * width + len(adapted) * adapter * case.lora_rank


def casts_to_adapter(case: Case) -> bool:
    """Whether adapters read an FP32 copy of a 16-bit input."""
    wide = case.precision in ("fp32", "bf16-autocast")
    return case.lora_format == "fp32" and not wide


def _attention(case: Case) -> float:
    roles = ("qkv",) if case.qkv == "fused" else ("q", "k", "v")
    inputs = linear_inputs(case, case.hidden, roles)
    return inputs + _core(case) + _output_input(case)


def kv_width(case: Case) -> int:
    """Heads of keys that the core sees, times their width."""
    repeated = case.kv_heads_as == "repeated" or case.attention.startswith("eager")
    return (case.heads if repeated else case.kv_heads) * case.head_dim


def _core(case: Case) -> float:
    """q, k, v and what the kernel keeps."""
    compute, width = compute_bytes(case), case.heads * case.head_dim
    if case.recompute == "selective-attention":
        return _passed_heads(case)
    if case.attention == "flash":
        return _passed_heads(case, cast=True) + compute * width + FP32 * case.heads
    if case.attention == "sdpa-math":
        return FP32 * 3 * width + FP32 * case.heads * case.seq_len
    # the batched product of several sequences needs copies, of one sequence takes views
    heads = _passed_heads(case, cast=True) if case.micro_batch == 1 else compute * 3 * width
    return heads + _scores(case) * case.heads * case.seq_len


def recomputed_core_bytes_per_token(case: Case) -> float:
    """What attention keeps beside the q, k and v that its checkpoint holds."""
    if case.attention == "flash":
        return FP32 * case.heads
    return _core(replace(case, recompute="none"))


def _passed_heads(case: Case, cast: bool = False) -> float:
    """q, k and v as tensors; views of a fused projection keep all of it."""
    compute, stream = compute_bytes(case), stream_bytes(case)
    width, keys = case.heads * case.head_dim, case.kv_heads * case.head_dim
    seen = kv_width(case)
    rotated = case.positions == "rotary"
    turned = stream if rotated and not cast else compute
    if case.qkv == "split":
        return turned * (width + seen) + compute * seen
    copied = seen != keys
    fused = 0 if rotated and copied else compute * (width + 2 * keys)
    q = turned * width if rotated else 0
    k = turned * seen if rotated or copied else 0
    return fused + q + k + (compute * seen if copied else 0)


def _scores(case: Case) -> int:
    """Bytes per element of the s² matrices that composed attention keeps."""
    compute = compute_bytes(case)
    wide = case.attention == "eager-fp32-softmax" or case.precision == "bf16-autocast"
    softmax = FP32 if wide else compute
    if not case.dropout:
        return softmax + (compute if softmax != compute else 0)
    return softmax + 1 + compute


def _output_input(case: Case) -> float:
    """Input of the output projection; flash keeps it anyway."""
    compute, width = compute_bytes(case), case.heads * case.head_dim
    is_kept = case.attention == "flash" and case.recompute != "selective-attention"
    if case.task == "full":
        return 0 if is_kept else compute * width
    adapters = sum_adapters(case, width, ("o",), shared=True)
    reads_kept = is_kept and (case.lora_format == "model" or case.precision == "fp32")
    reads_kept = reads_kept and case.precision != "bf16-autocast"  # there and back is a copy
    return adapters - (compute * width if adapters and reads_kept else 0)


def _dense(case: Case) -> float:
    inputs = ("gate", "up") if case.mlp_kind.startswith("swiglu") else ("up",)
    read = linear_inputs(case, case.hidden, inputs)
    return read + compute_bytes(case) * case.ffn_hidden * _inner(case) + _product(case)


def _inner(case: Case) -> int:
    """Tensors of the inner width that the activation keeps."""
    return {"swiglu": 3, "swiglu-fused": 2, "gelu": 1, "gelu-composed": 4}[case.mlp_kind]


def _product(case: Case) -> float:
    """Input of the down projection."""
    if case.task == "full":
        return compute_bytes(case) * case.ffn_hidden
    return sum_adapters(case, case.ffn_hidden, ("down",), shared=True)


def _experts(case: Case) -> float:
    compute, stream, k = compute_bytes(case), stream_bytes(case), case.top_k
    readers = 1 if compute == stream else 2
    router = compute * case.hidden + FP32 * case.n_experts + (3 * INDEX + 4 * FP32) * k
    routed = k * (
        compute * readers * case.hidden + compute * (_inner(case) + 1) * case.expert_hidden
    )
    weighted = k * (compute + stream) * case.hidden
    return router + routed + weighted


def _selected_outputs(case: Case) -> float:
    """Layer input, attention output, every second matrix product."""
    compute = compute_bytes(case)
    attention = compute * case.heads * case.head_dim + FP32 * case.heads
    kept = attention if case.attention == "flash" else 0
    kept += sum(compute * width for width in products(case)[::2])
    return stream_bytes(case) * case.hidden + kept


def products(case: Case) -> list[float]:
    """Output widths of a layer's matrix products in their order.

    A linear layer with a bias is another operation (`addmm`), which the policy does not count.
    """
    query, key = case.heads * case.head_dim, case.kv_heads * case.head_dim
    qkv = (
        [("qkv", query + 2 * key)]
        if case.qkv == "fused"
        else [("q", query), ("k", key), ("v", key)]
    )
    gated = case.mlp_kind.startswith("swiglu")
    inner = [("gate", case.ffn_hidden)] if gated else []
    dense = [*inner, ("up", case.ffn_hidden), ("down", case.hidden)]
    widths: list[float] = []
    for role, width in [*qkv, ("o", case.hidden), *([] if case.n_experts else dense)]:
        widths += [] if case.biases else [width]
        widths += _adapter_products(case, role, width)
    return widths + (_expert_products(case) if case.n_experts else [])


def _adapter_products(case: Case, role: str, width: int) -> list[float]:
    is_adapted = case.task == "lora" and (case.lora_targets == "all-linear" or role in ("q", "v"))
    if not is_adapted:
        return []
    wide = (
        2 if case.lora_format == "fp32" and case.precision not in ("fp32", "bf16-autocast") else 1
    )
    return [case.lora_rank * wide, width * wide]


def _expert_products(case: Case) -> list[float]:
    share = case.top_k / case.n_experts
    one = [share * case.expert_hidden, share * case.expert_hidden, share * case.hidden]
    return [case.n_experts, *(one * case.n_experts if case.experts_as == "loop" else [])]
