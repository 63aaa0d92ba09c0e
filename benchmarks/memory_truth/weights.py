"""Parameter counts of the traced models and the bytes that weights, casts and states take."""

from __future__ import annotations

from benchmarks.memory_truth.case import Case

WEIGHT_BYTES = {"pure-bf16": 2, "bf16-master": 2, "bf16-autocast": 4, "fp32": 4}
GRADIENT_BYTES = {"pure-bf16": 2, "bf16-master": 4, "bf16-autocast": 4, "fp32": 4}


def linears(case: Case) -> list[tuple[str, int, int, int]]:
    """(role, inputs, outputs, how many) of one layer's matrices."""
    h, query, key = case.hidden, case.heads * case.head_dim, case.kv_heads * case.head_dim
    split = [("q", h, query, 1), ("k", h, key, 1), ("v", h, key, 1)]
    qkv = [("qkv", h, query + 2 * key, 1)] if case.qkv == "fused" else split
    width, count = (case.expert_hidden or case.ffn_hidden), max(case.n_experts, 1)
    gate = [("gate", h, width, count)] if case.mlp_kind.startswith("swiglu") else []
    router = [("router", h, case.n_experts, 1)] if case.n_experts else []
    ffn = [*gate, ("up", h, width, count), ("down", width, h, count)]
    return [*qkv, ("o", query, h, 1), *router, *ffn]


def is_adapted(case: Case, role: str) -> bool:
    """Whether this matrix has a low-rank adapter."""
    return case.task == "lora" and (case.lora_targets == "all-linear" or role in ("q", "v"))


def layer_params(case: Case) -> int:
    """Weights of one layer's matrices, with their biases."""
    return sum(count * o * (i + case.biases) for _, i, o, count in linears(case))


def layer_adapter_params(case: Case) -> int:
    """Weights of one layer's adapters."""
    sizes = (i + o for role, i, o, _ in linears(case) if is_adapted(case, role))
    return case.lora_rank * sum(sizes)


def layer_trainable_params(case: Case) -> int:
    """Weights of one layer that have a gradient."""
    if case.task == "lora":
        return layer_adapter_params(case)
    return layer_params(case) + 2 * norm_params(case)


def ffn_trainable_params(case: Case) -> int:
    """Those of its feed-forward network or experts."""
    roles = ("gate", "up", "down", "router")
    own = [(role, i, o, count) for role, i, o, count in linears(case) if role in roles]
    if case.task == "lora":
        return case.lora_rank * sum(i + o for role, i, o, _ in own if is_adapted(case, role))
    return sum(count * o * (i + case.biases) for _, i, o, count in own)


def down_params(case: Case) -> int:
    """Those of the last matrix of the network, whose gradient comes first."""
    _, inputs, outputs, count = linears(case)[-1]
    if case.task == "lora":
        return case.lora_rank * (inputs + outputs) * is_adapted(case, "down")
    return count * inputs * outputs


def norm_params(case: Case) -> int:
    """Weights of one norm."""
    return case.hidden * (2 if case.norm == "layernorm" else 1)


def outside_params(case: Case) -> int:
    """Embedding, positions, output layer, final norm."""
    positions = case.seq_len * case.hidden if case.positions == "learned" else 0
    matrices = 1 if case.tied else 2
    return matrices * case.vocab * case.hidden + positions + norm_params(case)


def base_params(case: Case) -> int:
    """All weights but adapters."""
    layer = layer_params(case) + 2 * norm_params(case)
    return case.layers * layer + outside_params(case)


def trainable_params(case: Case) -> int:
    """Weights that have a gradient."""
    if case.task == "lora":
        return case.layers * layer_adapter_params(case)
    return base_params(case)


def adapter_bytes(case: Case) -> int:
    """Bytes per adapter weight."""
    return 4 if case.lora_format == "fp32" else WEIGHT_BYTES[case.precision]


def weight_bytes(case: Case) -> int:
    """All weights in the format that the layers hold."""
    adapters = case.layers * layer_adapter_params(case)
    return base_params(case) * WEIGHT_BYTES[case.precision] + adapters * adapter_bytes(case)


def gradient_bytes_per_param(case: Case) -> int:
    """Bytes of a gradient while it waits for the optimizer."""
    if case.precision == "bf16-master":
        return 4
    return adapter_bytes(case) if case.task == "lora" else GRADIENT_BYTES[case.precision]


def gradient_bytes(case: Case) -> int:
    """All gradients."""
    return trainable_params(case) * gradient_bytes_per_param(case)


def matrix_shapes(case: Case) -> list[tuple[int, int, int]]:
    """(rows, columns, how many) of every trainable matrix of the model."""
    if case.task == "lora":
        adapted = [(i, o) for role, i, o, _ in linears(case) if is_adapted(case, role)]
        rank, n = case.lora_rank, case.layers
        return [shape for i, o in adapted for shape in ((rank, i, n), (o, rank, n))]
    layer = [(o, i, count * case.layers) for _, i, o, count in linears(case)]
    outside = [(case.vocab, case.hidden, 1 if case.tied else 2)]
    learned = [(case.seq_len, case.hidden, 1)] if case.positions == "learned" else []
    return layer + outside + learned


def state_bytes_per_param(case: Case) -> int:
    """Bytes of the format in which the optimizer steps."""
    return 4 if case.precision == "bf16-master" else gradient_bytes_per_param(case)


def optimizer_bytes(case: Case) -> int:
    """State between steps, FP32 master weights included."""
    count, each = trainable_params(case), state_bytes_per_param(case)
    masters = 4 * count if case.precision == "bf16-master" else 0
    if case.optimizer.startswith("adamw"):
        return masters + 2 * count * each
    if case.optimizer == "sgd-momentum":
        return masters + count * each
    if case.optimizer == "sgd":
        return masters
    return masters + _factored_state(case, each)


def _factored_state(case: Case, each: int) -> int:
    shapes = matrix_shapes(case)
    in_matrices = sum(rows * columns * count for rows, columns, count in shapes)
    others = trainable_params(case) - in_matrices
    if case.optimizer == "muon":
        stacked = _stacked_expert_params(case)  # Muon takes matrices only
        return each * (in_matrices - stacked) + 2 * each * (others + stacked)
    return 4 * (sum((rows + columns) * count for rows, columns, count in shapes) + others)


def _stacked_expert_params(case: Case) -> int:
    if case.experts_as != "grouped":
        return 0
    return case.layers * 3 * case.n_experts * case.hidden * case.expert_hidden


def step_temporary_bytes(case: Case) -> int:
    """What the optimizer step allocates and frees again.

    A foreach AdamW holds √v of all parameters at once; the loop holds two temporaries of the
    largest parameter; a fused kernel none.
    """
    count, each = trainable_params(case), state_bytes_per_param(case)
    rows, columns = max(
        ((r, c) for r, c, _ in _tensors(case)), key=lambda shape: shape[0] * shape[1]
    )
    largest = rows * columns
    if case.optimizer == "adamw-foreach":
        return count * each
    if case.optimizer == "adamw":
        return 2 * largest * each
    if case.optimizer == "adafactor":
        return largest * (10 if each == 2 else 4)
    if case.optimizer == "muon":
        return _muon_temporary(largest, min(rows, columns), each)
    return 0


def _tensors(case: Case) -> list[tuple[int, int, int]]:
    """Trainable tensors as the optimizer sees them; stacked experts are one."""
    if case.experts_as != "grouped":
        return matrix_shapes(case)
    stack = (case.n_experts * case.hidden, case.expert_hidden, 1)
    return [*matrix_shapes(case), stack]


def _muon_temporary(largest: int, short: int, each: int) -> int:
    """Newton-Schulz in BF16: momentum update, iterate, its Gram matrix and polynomial."""
    return largest * (each + 2 * 2) + 2 * 2 * short * short


def cast_bytes_per_layer(case: Case) -> int:
    """Cached 16-bit copies of one layer's FP32 weights under autocast."""
    if case.precision != "bf16-autocast":
        return 0
    return 2 * (layer_params(case) + layer_adapter_params(case))


def head_cast_bytes(case: Case) -> int:
    """The 16-bit copy of the output matrix under autocast."""
    return 2 * case.vocab * case.hidden if case.precision == "bf16-autocast" else 0
