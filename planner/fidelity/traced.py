"""Traced training steps as configurations: the truth that the memory formulas are held against.

Each row of `data/traced_memory.csv` is one step of a real module under torch's fake tensors, with
the implementation of every part stated; see benchmarks/memory_truth.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import hardware_db
from planner.engine.batch import Batch, batch_of
from planner.engine.configuration import Configuration
from planner.engine.model import Block, Model
from planner.engine.software import CHUNKS, EAGER_LOGITS, PLAIN_ATTENTIONS
from planner.stacks import stack

Array = np.ndarray[Any, np.dtype[Any]]

_FILE = Path(__file__).parent / "data" / "traced_memory.csv"

_STACKS = {  # stack whose formats the row has
    "pure-bf16": "torchtune",
    "bf16-master": "megatron",
    "bf16-autocast": "hf-trainer-4",
    "fp32": "torchtune",
}
_PRECISIONS = {"pure-bf16": "pure-bf16", "fp32": "fp32"}
_LOSSES = {
    "vocab-parallel": "vocab-parallel",
    "fused": "fused",
    "chunked": "chunked",
    "fused-linear": "chunked",
}
_LOGITS = {"eager": "float", "eager-held": "float-held", "model-format": "model"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedStep:
    """One traced step: what was traced, and the peaks that it reached."""

    row: dict[str, str]
    configuration: Configuration
    peak_bytes: float
    head_bytes: float  # highest while logits are alive
    layers_backward_bytes: float
    optimizer_bytes: float
    saved_bytes: float  # that one layer keeps


@cache
def traced_steps() -> tuple[TracedStep, ...]:
    """Every traced step."""
    with _FILE.open(encoding="utf-8", newline="") as file:
        return tuple(_step(row) for row in csv.DictReader(file))


def traced_batch(steps: tuple[TracedStep, ...]) -> Batch:
    """The steps as one batch, with the implementation that each row states."""
    batch = batch_of([each.configuration for each in steps], hardware_db.accelerator, stack)
    facts = [_facts(each) for each in steps]
    columns = {name: np.array([row[name] for row in facts]) for name in facts[0]}
    recipe = {name: columns.pop(name) for name in ("moment_bytes", "selective_ops")}
    return replace(
        batch,
        software=replace(batch.software, **columns),
        recipe=replace(batch.recipe, **recipe),
    )


def _step(row: dict[str, str]) -> TracedStep:
    return TracedStep(
        row=row,
        configuration=_configuration(row),
        peak_bytes=float(row["peak_bytes"]),
        head_bytes=float(row["peak_head_bytes"]),
        layers_backward_bytes=float(row["peak_layers_backward_bytes"]),
        optimizer_bytes=float(row["peak_optimizer_bytes"]),
        saved_bytes=float(row["saved_activation_bytes_per_layer"]),
    )


def _number(row: dict[str, str], name: str) -> int:
    return int(row[name] or 0)


def _configuration(row: dict[str, str]) -> Configuration:
    lora = row["task"] == "lora"
    precision = row["precision"]
    return Configuration(
        model=_model(row),
        sku="h100-sxm5-80gb",
        num_devices=1,
        devices_per_node=1,
        network_bytes_per_second=5e10,
        seq_len=_number(row, "seq_len"),
        micro_batch=_number(row, "micro_batch"),
        accumulation=_number(row, "accumulation"),
        task="lora" if lora else "pretrain",
        precision=_PRECISIONS.get(precision, "bf16"),
        recompute=row["recompute"].split("-")[0],
        attention="flash" if row["attention"] == "flash" else "sdpa-math",
        loss=_LOSSES.get(row["loss"], "eager"),
        optimizer=row["optimizer"],
        lora_rank=_number(row, "lora_rank"),
        lora_targets=("q", "v") if row["lora_targets"] == "q-v" else (),
        trainable_params=_number(row, "trainable_params"),
        stack=_STACKS[precision],
    )


def _model(row: dict[str, str]) -> Model:
    hidden, vocab = _number(row, "hidden"), _number(row, "vocab")
    norm = hidden * (2 if row["norm"] == "layernorm" else 1)
    positions = _number(row, "seq_len") * hidden if row["positions"] == "learned" else 0
    tied = row["tied"] == "True"
    return Model(
        name=row["id"],
        family="llama" if row["norm"].startswith("rms") else "gpt2",
        kind="decoder",
        hidden=hidden,
        vocab=vocab,
        blocks=(_block(row, norm),),
        input_embedding_params=vocab * hidden,
        position_params=positions,
        head_params=0 if tied else vocab * hidden,
        final_params=norm,
        tied=tied,
    )


def _block(row: dict[str, str], norm: int) -> Block:
    hidden, head_dim = _number(row, "hidden"), _number(row, "head_dim")
    heads, kv_heads = _number(row, "heads"), _number(row, "kv_heads")
    bias = 1 if row["biases"] == "True" else 0
    gated = row["mlp_kind"].startswith("swiglu")
    experts = _number(row, "n_experts")
    width = _number(row, "expert_hidden") if experts else _number(row, "ffn_hidden")
    qkv = (heads + 2 * kv_heads) * head_dim
    network = (2 if gated else 1) * width * (hidden + bias) + hidden * (width + bias)
    return Block(
        count=_number(row, "layers"),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        v_head_dim=head_dim,
        ffn_hidden=0 if experts else width,
        gated=gated,
        num_experts=experts,
        top_k=_number(row, "top_k"),
        expert_hidden=width if experts else 0,
        attention_params=qkv * (hidden + bias) + hidden * (heads * head_dim + bias),
        ffn_params=0 if experts else network,
        expert_params=experts * network,
        router_params=hidden * experts,
        norm_params=2 * norm,
    )


def _facts(step: TracedStep) -> dict[str, float]:
    """The software of a row; autocast and formats follow from its stack."""
    row = step.row
    kind = row["attention"] if row["attention"] in PLAIN_ATTENTIONS else "sdpa-math"
    fused = row["mlp_kind"].endswith("fused")
    composed = row["mlp_kind"] == "gelu-composed"
    logits = _LOGITS.get(row["loss"], "compiled" if row["loss"] == "compiled" else "float")
    chunks = "fused-linear" if row["loss"] == "fused-linear" else "checkpointed"
    fp32_adapters = row["lora_format"] == "fp32"
    same = row["precision"] != "bf16-autocast" and not fp32_adapters
    wide = row["precision"] == "bf16-autocast"
    return {
        "wide": float(wide),
        "layer_norm": float(row["norm"] == "layernorm"),
        "norm_eager": float(row["norm"] == "rmsnorm-eager"),
        "qkv_fused": float(row["qkv"] == "fused"),
        "rotary": float(row["positions"] == "rotary"),
        "kv_repeated": float(row["kv_heads_as"] == "repeated"),
        "inner_gated": 2.0 if fused else 3.0,
        "inner_plain": 4.0 if composed else 1.0,
        "back_gated": 1.0 if fused else 2.0,
        "back_plain": 2.0 if composed else 1.0,
        "plain_kind": float(PLAIN_ATTENTIONS.index(kind)),
        "dropout": float(float(row["dropout"]) > 0),
        "adapter_bytes": 4.0 if fp32_adapters and not wide else _compute(row),
        "adapter_shared": float(same or row["precision"] == "fp32"),
        "adapter_dropout": 0.0,
        "main_gradients": float(row["precision"] == "bf16-master"),
        "accumulates_in_product": 0.0,
        "eager_logits": float(EAGER_LOGITS.index(logits)),
        "chunks": float(CHUNKS.index(chunks)),
        "frozen_outer_bytes": 4.0 if row["precision"] in ("fp32", "bf16-autocast") else 2.0,
        "selective_ops": float(row["recompute"] == "selective-ops"),
        "moment_bytes": float(row["optimizer_bytes"]) / float(row["trainable_params"])
        - (4.0 if row["precision"] == "bf16-master" else 0.0),
    }


def _compute(row: dict[str, str]) -> float:
    return 4.0 if row["precision"] == "fp32" else 2.0
