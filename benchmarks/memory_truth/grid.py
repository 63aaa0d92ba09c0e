"""The configurations of the table: one choice varied at a time, real models, random mixtures."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from benchmarks.memory_truth.case import WORDS, Case
from benchmarks.memory_truth.presets import (
    GEMMA_7B,
    GPT2,
    LLAMA_2_7B,
    LLAMA_3_8B,
    LLAMA_32_1B,
    LORA,
    MIXTRAL,
    QWEN3_30B_A3B,
    QWEN_25_7B,
    SMALL,
    SMALL_MOE,
    TINYLLAMA,
)

VARIATIONS: dict[str, tuple[dict[str, Any], dict[str, tuple]]] = {
    "small": (
        SMALL,
        {
            **{
                name: WORDS[name]
                for name in (
                    "mlp_kind",
                    "norm",
                    "positions",
                    "qkv",
                    "kv_heads_as",
                    "precision",
                    "attention",
                    "loss",
                    "recompute",
                    "optimizer",
                )
            },
            "layers": (2, 3, 8),
            "seq_len": (256, 2048, 4096),
            "micro_batch": (1, 8),
            "vocab": (8192, 131072),
            "kv_heads": (1, 16),
            "tied": (True,),
            "biases": (True,),
            "dropout": (0.1,),
            "accumulation": (4,),
        },
    ),
    "autocast": (
        {**SMALL, "precision": "bf16-autocast", "norm": "rmsnorm-eager"},
        {
            name: WORDS[name]
            for name in ("mlp_kind", "norm", "qkv", "attention", "loss", "recompute", "optimizer")
        },
    ),
    "llama-3-8b": (
        {**LLAMA_3_8B, "loss": "chunked"},
        {
            "layers": (2, 3, 4),
            "seq_len": (2048, 8192),
            "norm": ("rmsnorm-eager",),
            "loss": ("eager", "fused", "fused-linear"),
            "recompute": ("full", "selective-ops"),
            "precision": ("bf16-master", "bf16-autocast"),
            "optimizer": ("adamw-fused", "adafactor"),
        },
    ),
    "gpt2-124m": (
        GPT2,
        {
            "layers": (12, 6),
            "precision": ("fp32", "pure-bf16"),
            "loss": ("eager-held", "compiled", "chunked"),
            "recompute": ("full",),
            "attention": ("eager", "eager-fp32-softmax"),
            "mlp_kind": ("gelu-composed",),
            "optimizer": ("adamw-foreach",),
            "micro_batch": (1, 16),
        },
    ),
    "experts": (
        SMALL_MOE,
        {
            "experts_as": ("grouped", "loop"),
            "top_k": (1, 4),
            "n_experts": (4, 16),
            "recompute": ("full",),
            "precision": ("bf16-autocast", "bf16-master"),
            "mlp_kind": ("swiglu-fused",),
            "optimizer": ("adamw-fused",),
            "seq_len": (4096,),
        },
    ),
    "lora": (
        {**SMALL, **LORA, "micro_batch": 4},
        {
            "lora_targets": ("all-linear", "q-v"),
            "lora_rank": (4, 64),
            "lora_format": ("fp32",),
            "recompute": ("full", "selective-attention"),
            "precision": ("bf16-autocast",),
            "norm": ("rmsnorm-eager",),
            "mlp_kind": ("swiglu-fused", "gelu"),
            "loss": ("chunked", "fused"),
            "attention": ("eager",),
            "layers": (2, 8),
        },
    ),
}

SINGLES: dict[str, dict[str, Any]] = {
    "llama-2-7b-2-layers": {**LLAMA_2_7B, "loss": "eager"},
    "llama-2-7b-4-layers-full": {**LLAMA_2_7B, "layers": 4, "recompute": "full"},
    "llama-3.2-1b": LLAMA_32_1B,
    "llama-3.2-1b-full-chunked": {**LLAMA_32_1B, "recompute": "full", "loss": "chunked"},
    "llama-3.2-1b-autocast": {
        **LLAMA_32_1B,
        "precision": "bf16-autocast",
        "norm": "rmsnorm-eager",
        "seq_len": 2048,
    },
    "qwen2.5-7b-2-layers": {**QWEN_25_7B, "norm": "rmsnorm-eager"},
    "qwen2.5-7b-lora": {**QWEN_25_7B, **LORA, "norm": "rmsnorm-eager", "layers": 4},
    "gemma-7b-2-layers": {**GEMMA_7B, "seq_len": 2048},
    "tinyllama": {**TINYLLAMA, "micro_batch": 4, "loss": "fused"},
    "tinyllama-full": {**TINYLLAMA, "micro_batch": 8, "recompute": "full"},
    "tinyllama-lora-fp32": {**TINYLLAMA, **LORA, "lora_format": "fp32", "micro_batch": 4},
    "mixtral-2-layers": {**MIXTRAL, "loss": "chunked"},
    "mixtral-2-layers-full": {**MIXTRAL, "recompute": "full", "optimizer": "sgd"},
    "qwen3-30b-a3b-2-layers": {**QWEN3_30B_A3B, "loss": "fused"},
    "llama-3-8b-lora": {**LLAMA_3_8B, **LORA, "layers": 4, "recompute": "full"},
    "llama-3-8b-lora-q-v": {**LLAMA_3_8B, **LORA, "lora_targets": "q-v", "loss": "chunked"},
    "gpt3-small-korthikanti": {
        **GPT2,
        "precision": "pure-bf16",
        "attention": "eager",
        "dropout": 0.1,
        "loss": "vocab-parallel",
        "seq_len": 2048,
        "micro_batch": 4,
    },
}

NUM_RANDOM = 60
SEED = 20240  # of the table's random cases


def cases() -> Iterator[Case]:
    """Every case of the table, in its order."""
    for family, (base, axes) in VARIATIONS.items():
        yield from _one_at_a_time(family, base, axes)
    for name, settings in SINGLES.items():
        yield Case(id=name, **settings)
    yield from random_cases(NUM_RANDOM, random.Random(SEED))


def _one_at_a_time(family: str, base: dict[str, Any], axes: dict[str, tuple]) -> Iterator[Case]:
    reference = Case(id=f"{family}/base", **base)
    yield reference
    for name, values in axes.items():
        for value in values:
            if value != getattr(reference, name):
                yield Case(id=f"{family}/{name}={value}", **{**base, name: value})


def random_cases(number: int, source: random.Random) -> Iterator[Case]:
    """Settings drawn together, so that a formula cannot pass by fitting one axis at a time."""
    for index in range(number):
        yield Case(id=f"random-{index:02d}", **_draw(source))


def _draw(source: random.Random) -> dict[str, Any]:
    heads = source.choice((8, 12, 16, 32))
    head_dim = source.choice((64, 128))
    hidden = source.choice((heads * head_dim, 512, 1024, 1536))
    attention = source.choice(("flash", "flash", "flash", *WORDS["attention"]))
    settings = {
        "layers": source.choice((2, 3, 4, 6)),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": source.choice((heads, heads // 4)),
        "head_dim": head_dim,
        "ffn_hidden": source.choice((2, 3, 4)) * hidden,
        "vocab": source.choice((16384, 32000, 50304, 128256)),
        "seq_len": source.choice((512, 1024, 2048)),
        "micro_batch": source.choice((1, 2, 4)),
        "attention": attention,
        "accumulation": source.choice((1, 1, 1, 2)),
        "tied": source.choice((False, True)),
        "biases": source.choice((False, False, True)),
    }
    for name in ("mlp_kind", "norm", "positions", "qkv", "kv_heads_as", "precision", "loss"):
        settings[name] = source.choice(WORDS[name])
    for name in ("recompute", "optimizer"):
        settings[name] = source.choice(WORDS[name])
    if source.random() < 0.2:
        settings.update(_draw_adapter(source), qkv="split")
        if settings["precision"] == "bf16-master":
            settings["lora_format"] = "model"
    elif source.random() < 0.2:
        settings.update(_draw_experts(source), biases=False, mlp_kind="swiglu")
    return settings


def _draw_adapter(source: random.Random) -> dict[str, Any]:
    return {
        "task": "lora",
        "lora_rank": source.choice((8, 32)),
        "lora_targets": source.choice(("q-v", "all-linear")),
        "lora_format": source.choice(("model", "fp32")),
        "tied": False,
    }


def _draw_experts(source: random.Random) -> dict[str, Any]:
    return {
        "ffn_hidden": 0,
        "n_experts": source.choice((8, 16)),
        "top_k": source.choice((1, 2)),
        "expert_hidden": source.choice((512, 1024)),
        "experts_as": source.choice(("grouped", "loop")),
    }
