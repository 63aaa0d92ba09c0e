"""`forerun model` for a person to read: facts, where parameters sit, layers, operations."""

from __future__ import annotations

from typing import Any

from planner.cli.output import note, print_table, warn
from planner.engine.model import Block, Model
from planner.quantities import show_bytes, show_flops, show_whole


def show(model: Model, answer: dict[str, Any]) -> None:
    """Print what a model is; warnings go to standard error."""
    print_table(f"{model.name} ({model.family}, {model.kind})", ["", "value"], _facts(answer))
    print()
    print_table("Where parameters sit", ["group", "parameters", "share"], _shares(answer))
    print()
    print_table("Layers", _LAYER_COLUMNS, [_layer_row(block) for block in model.blocks])
    print()
    columns = ["matrix", "part", "in", "out", "per layer", "layers", "parameters"]
    print_table("Operations", columns, [_operation_row(each) for each in answer["operations"]])
    for warning in answer["warnings"]:
        warn(warning)
    if model.tied:
        note("the output layer shares the input embedding, which is counted once")


def _facts(answer: dict[str, Any]) -> list[list[object]]:
    cache = answer["kv_cache"] or {}
    rows: list[list[object]] = [
        ["parameters", show_whole(answer["params_total"])],
        ["  active for a token", show_whole(answer["params_active"])],
        [
            "  active without input embedding",
            show_whole(answer["params_active_without_input_embedding"]),
        ],
        ["  trainable", show_whole(answer["params_trainable"])],
        ["layers, width", f"{answer['layers']}, {answer['hidden']}"],
        ["published weights", answer["checkpoint_format"]],
        [
            f"training FLOP per token at {answer['seq_len']} tokens",
            show_flops(answer["flops_per_token"]),
        ],
    ]
    if answer["flops_per_token_causal"] < answer["flops_per_token"]:
        rows.append(["  with a causal mask's half", show_flops(answer["flops_per_token_causal"])])
    if cache:
        rows.append(["16-bit key-value cache per token", show_bytes(cache["bytes_per_token"])])
        rows.append([f"  at {cache['context']} tokens", show_bytes(cache["bytes"])])
    rows += [
        [f"training state, {name}", show_bytes(size)]
        for name, size in answer["state_bytes"].items()
    ]
    return rows


def _shares(answer: dict[str, Any]) -> list[list[object]]:
    total = answer["params_total"]
    return [
        [name.replace("_", " "), show_whole(count), f"{count / total:.1%}"]
        for name, count in answer["params"].items()
        if count
    ]


_LAYER_COLUMNS = ["layers", "heads", "kv", "head", "window", "feed-forward", "parameters", "active"]


def _layer_row(block: Block) -> list[object]:
    return [
        f"{block.count} {block.side}",
        block.heads,
        f"latent {block.kv_lora_rank}" if block.kv_lora_rank else block.kv_heads,
        block.head_dim,
        block.window or "full",
        _feed_forward(block),
        show_whole(block.params),
        show_whole(block.params_active),
    ]


def _feed_forward(block: Block) -> str:
    if not block.num_experts:
        return f"{block.ffn_hidden}{' gated' if block.gated else ''}"
    shared = f" + {block.shared_hidden} shared" if block.shared_hidden else ""
    return f"{block.top_k} of {block.num_experts} x {block.expert_hidden}{shared}"


def _operation_row(operation: dict[str, Any]) -> list[object]:
    names = ("name", "role", "inputs", "outputs", "per_layer", "layers")
    return [*(operation[name] for name in names), show_whole(operation["params"])]
