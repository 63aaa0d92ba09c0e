"""Stated plans that between them use every feature a config may hold."""

from __future__ import annotations

from functools import cache
from typing import Any

from planner.trainers import Job
from tests.trainers.jobs import job

_MOE = "mixtral-8x7b"
_SHAPES: dict[str, dict[str, Any]] = {
    "zero3": {},
    "one device": {
        "hardware__count": 1,
        "model": "qwen3-0.6b",
        "training__layout": {"sharding": "none"},
    },
    "replicated": {"training__layout": {"sharding": "none"}, "model": "qwen3-0.6b"},
    "zero1": {"training__layout": {"sharding": "zero1"}, "training__stack": "megatron"},
    "zero2 fp16": {
        "training__layout": {"sharding": "zero2"},
        "training__precision": "fp16",
        "training__stack": "deepspeed",
    },
    "tensor": {"training__layout": {"tp": 2, "sharding": "zero2"}, "training__stack": "deepspeed"},
    "tensor and context": {"training__layout": {"tp": 2, "cp": 2, "sharding": "zero3"}},
    "pipeline": {
        "training__layout": {"tp": 2, "pp": 2, "interleave": 2, "sharding": "zero1"},
        "training__recompute": "selective",
        "training__stack": "megatron",
    },
    "sharded pipeline": {
        "training__layout": {"pp": 2, "interleave": 4, "sharding": "zero3"},
        "training__recompute": "full",
        "training__stack": "torchtitan",
    },
    "experts": {
        "model": _MOE,
        "hardware__count": 32,
        "training__layout": {"tp": 2, "ep": 8, "sharding": "zero1"},
        "training__stack": "megatron",
    },
    "hybrid": {"training__layout": {"sharding": "hsdp"}},
    "offloaded": {"training__offload": "params+optimizer", "training__recompute": "full"},
    "optimizer offloaded": {
        "training__offload": "optimizer",
        "training__layout": {"sharding": "zero1"},
        "training__stack": "megatron",
    },
    "fp8 compiled": {
        "training__precision": "fp8",
        "training__compile": "regional",
        "training__loss": "chunked",
        "overhead__checkpoint_every": "1h",
    },
    "compiled": {"training__compile": "full", "training__loss": "fused"},
    "decaying late": {"training__schedule": "wsd", "training__optimizer": "adamw-fused"},
    "lora": {
        "training__task": "lora",
        "training__layout": {"sharding": "none"},
        "training__lora": {"rank": 8, "targets": ["q", "v"]},
    },
    "qlora": {
        "training__task": "qlora",
        "training__layout": {"sharding": "none"},
        "training__attention": "sdpa-math",
    },
    "dpo": {"training__task": "dpo", "training__stack": "trl"},
}
NAMES = tuple(_SHAPES)


@cache
def plan(name: str) -> Job:
    """One of the plans by name."""
    shape = dict(_SHAPES[name])
    return job(str(shape.pop("model", "llama-3-8b")), **shape)
