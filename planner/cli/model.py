"""`forerun model`: what a model is, from a preset, a config.json or the hub."""

from __future__ import annotations

import argparse
from typing import Any

from planner.cli.model_text import show
from planner.cli.output import print_json, print_table
from planner.cli.progress import told_tracing
from planner.engine.model import Block, Model
from planner.errors import PlannerError
from planner.models.flops import flops_parts
from planner.models.kvcache import kv_cache_bytes
from planner.models.lora import all_matrices, lora_params
from planner.models.presets import (
    load_preset,
    load_traced,
    preset_ids,
    preset_source,
    traced_ids,
)
from planner.models.registry import known_families
from planner.models.sources import load_model
from planner.models.states import state_bytes
from planner.quantities import (
    COUNT,
    SEQUENCE,
    read_whole,
    show_count,
)

HELP = "what a model is: parameters, FLOPs per token, operation table"

_USUAL_SEQ_LEN = 4096  # tokens, where neither the command nor the config says less
_CACHE_BYTES = 2  # per element of a 16-bit cache


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        nargs="?",
        metavar="MODEL",
        help="a preset, a Hugging Face config.json (or its folder), hf:ORG/NAME, or "
        "FILE.py:FUNCTION that makes a torch module",
    )
    parser.add_argument(
        "--input-shape", metavar="D,D,..", help="of one sample of FILE.py:FUNCTION: 3,224,224"
    )
    parser.add_argument("--list", action="store_true", help="the presets and known architectures")
    parser.add_argument(
        "--seq-len",
        metavar="TOKENS",
        help=f"context length (default: the config's, at most {_USUAL_SEQ_LEN})",
    )
    parser.add_argument("--lora-rank", metavar="R", help="count the adapters of this rank")
    parser.add_argument(
        "--lora-targets",
        default="all-linear",
        metavar="A,B,..",
        help="what is adapted: all-linear, attention, mlp, experts, or module names",
    )
    parser.add_argument(
        "--lora-trainable",
        default="",
        metavar="A,B,..",
        help="modules trained in full beside the adapters: embedding, head, norm, or names",
    )


def run(args: argparse.Namespace) -> int:
    if args.list:
        if args.model is not None:
            raise PlannerError("--list", args.model, "leave out the one or the other")
        return _list(args)
    if args.model is None:
        raise PlannerError("MODEL", None, "name a preset or a config.json; --list prints presets")
    told_tracing(args.model)
    model = load_model(args.model, input_shape=_input_shape(args))
    if model.table is not None:
        return _traced(args, model)
    if args.input_shape is not None:
        remedy = f"{model.name} is a transformer: leave it out, say --seq-len"
        raise PlannerError("--input-shape", args.input_shape, remedy)
    answer = describe(model, seq_len=_seq_len(args, model), trainable=_trainable(args, model))
    if args.json:
        print_json(answer)
    else:
        show(model, answer)
    return 0


def _input_shape(args: argparse.Namespace) -> tuple[int, ...] | None:
    from planner.run.values import shape

    return None if args.input_shape is None else shape("--input-shape", args.input_shape)


def _traced(args: argparse.Namespace, model: Model) -> int:
    """A torch module that was traced: samples, not tokens; no adapters."""
    from planner.cli.model_traced import describe as describe_traced
    from planner.cli.model_traced import show

    for flag, value in (("--seq-len", args.seq_len), ("--lora-rank", args.lora_rank)):
        if value is not None:
            raise PlannerError(flag, value, f"{model.name} is a traced module: leave it out")
    answer = describe_traced(model)
    if args.json:
        print_json(answer)
    else:
        show(model, answer)
    return 0


def describe(model: Model, *, seq_len: int, trainable: int) -> dict[str, Any]:
    """Everything that `forerun model --json` says: parameters, FLOP, bytes; unknown is None."""
    flops = flops_parts(model, seq_len)
    return {
        "name": model.name,
        "family": model.family,
        "kind": model.kind,
        "params_total": model.params_total,
        "params_active": model.params_active,
        "params_active_without_input_embedding": model.params_active_without_input_embedding,
        "params_input_embedding": model.input_embedding_params,
        "params_trainable": trainable,
        "params": parameter_groups(model),
        "tied": model.tied,
        "layers": model.layers,
        "layers_dense": sum(block.count for block in model.blocks if block.ffn_hidden),
        "layers_sparse": sum(block.count for block in model.blocks if block.num_experts),
        "hidden": model.hidden,
        "vocab": model.vocab or None,
        "max_seq_len": model.max_seq_len,
        "checkpoint_format": model.checkpoint_format,
        "seq_len": seq_len,
        "flops_per_token": flops.total,
        "flops_per_token_causal": flops_parts(model, seq_len, causal=True).total,
        "flops": {"matmul": flops.matmul, "attention": flops.attention},
        "kv_cache": _kv_cache(model, seq_len),
        "state_bytes": state_bytes(model),
        "blocks": [_block(block) for block in model.blocks],
        "operations": operations(model),
        "warnings": [*model.warnings, *_length_warnings(model, seq_len)],
    }


def parameter_groups(model: Model) -> dict[str, int]:
    """Parameters by where they sit; the groups add up to `params_total`."""
    return {
        "input_embedding": model.input_embedding_params,
        "positions": model.position_params,
        "attention": sum(block.count * block.attention_params for block in model.blocks),
        "ffn": sum(block.count * block.ffn_params for block in model.blocks),
        "experts": sum(block.count * block.expert_params for block in model.blocks),
        "shared_experts": sum(block.count * block.shared_params for block in model.blocks),
        "router": sum(block.count * block.router_params for block in model.blocks),
        "norms": sum(block.count * block.norm_params for block in model.blocks),
        "head": model.head_params,
        "final": model.final_params,
    }


def operations(model: Model) -> list[dict[str, Any]]:
    """The weight products of the model: for each, inputs × outputs and how often it stands."""
    return [
        {
            "name": matrix.name,
            "role": matrix.role,
            "inputs": matrix.inputs,
            "outputs": matrix.outputs,
            "per_layer": matrix.count,
            "layers": layers,
            "params": layers * matrix.params,
        }
        for layers, matrix in all_matrices(model)
    ]


def _seq_len(args: argparse.Namespace, model: Model) -> int:
    if args.seq_len is not None:
        return read_whole(SEQUENCE, "--seq-len", args.seq_len)
    return min(model.image_tokens or model.max_seq_len or _USUAL_SEQ_LEN, _USUAL_SEQ_LEN)


def _trainable(args: argparse.Namespace, model: Model) -> int:
    whole = [name.strip() for name in args.lora_trainable.split(",") if name.strip()]
    if args.lora_rank is None:
        if whole or args.lora_targets != "all-linear":
            raise PlannerError("--lora-rank", None, "give the rank of the adapters")
        return model.params_total
    rank = read_whole(COUNT, "--lora-rank", args.lora_rank)
    return lora_params(model, rank, args.lora_targets, whole)


def _kv_cache(model: Model, context: int) -> dict[str, Any] | None:
    held = kv_cache_bytes(model, context, element_bytes=_CACHE_BYTES)
    if held is None:
        return None
    return {
        "context": context,
        "element_bytes": _CACHE_BYTES,
        "bytes": held,
        "bytes_per_token": kv_cache_bytes(model, 1, element_bytes=_CACHE_BYTES),
    }


def _block(block: Block) -> dict[str, Any]:
    numbers = {
        name: getattr(block, name)
        for name in Block.__dataclass_fields__
        if name not in ("matrices", "count")
    }
    return {"layers": block.count, "params": block.params, **numbers}


def _length_warnings(model: Model, seq_len: int) -> list[str]:
    if model.max_seq_len is None or seq_len <= model.max_seq_len:
        return []
    return [f"{seq_len} tokens exceed the {model.max_seq_len} that the config states"]


def _list(args: argparse.Namespace) -> int:
    models = [(preset, load_preset(preset)) for preset in preset_ids()]
    models += [(preset, load_traced(preset)) for preset in traced_ids()]
    models.sort(key=lambda each: each[0])
    if args.json:
        print_json({"presets": [_listed(*each) for each in models], "families": known_families()})
        return 0
    columns = ["preset", "parameters", "active", "layers", "hidden", "architecture"]
    rows = [
        [
            preset,
            show_count(model.params_total),
            show_count(model.params_active) if model.params_active < model.params_total else None,
            model.layers,
            model.hidden,
            model.family,
        ]
        for preset, model in models
    ]
    print_table(None, columns, rows)
    print(f"\n{len(rows)} presets; read from a config.json: {', '.join(known_families())}")
    return 0


def _listed(preset: str, model: Model) -> dict[str, Any]:
    return {
        "id": preset,
        "family": model.family,
        "kind": model.kind,
        "params_total": model.params_total,
        "params_active": model.params_active,
        "source": preset_source(preset),
    }
