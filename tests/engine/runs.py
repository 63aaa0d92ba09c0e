"""Configurations that the tests of the engine share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import hardware_db
from planner.engine.batch import Batch, batch_of
from planner.engine.configuration import Configuration
from planner.models import load_model
from planner.stacks import stack

MODELS = ("llama-3.2-1b", "gpt2-124m", "qwen3-0.6b", "olmoe-1b-7b", "deepseek-v2-lite", "t5-small")
STACKS = (
    "megatron",
    "torchtitan",
    "hf-trainer",
    "hf-trainer-4",
    "deepspeed",
    "litgpt",
    "torchtune",
)


def configuration(model: str = "llama-3.2-1b", **changes: Any) -> Configuration:
    """A single-device pre-training run, changed."""
    settings: dict[str, Any] = {
        "model": load_model(model),
        "sku": "h100-sxm5-80gb",
        "num_devices": 1,
        "devices_per_node": 8,
        "network_bytes_per_second": 5e10,
        "seq_len": 1024,
        "micro_batch": 1,
        "accumulation": 1,
        "stack": "torchtitan",
    }
    return Configuration(**(settings | changes))


def one(each: Configuration) -> Batch:
    """A batch of one."""
    return many([each])


def many(each: Sequence[Configuration]) -> Batch:
    """A batch of several."""
    return batch_of(each, hardware_db.accelerator, stack)


def first(value: Any) -> float:
    """The first candidate's value."""
    return float(np.ravel(value)[0])


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    """Any combination of model, stack, layout and settings that the engine can be asked about."""
    degree = st.sampled_from((1, 2, 4))
    tp, pp, dp = draw(degree), draw(degree), draw(degree)
    task = draw(st.sampled_from(("pretrain", "lora", "qlora")))
    return configuration(
        model=draw(st.sampled_from(MODELS)),
        stack=draw(st.sampled_from(STACKS)),
        num_devices=tp * pp * dp,
        tp=tp,
        pp=pp,
        dp=dp,
        sharding=draw(st.sampled_from(("none", "zero1", "zero2", "zero3"))),
        sequence_parallel=tp > 1 and draw(st.booleans()),
        seq_len=draw(st.sampled_from((128, 1024, 4096))),
        micro_batch=draw(st.integers(1, 4)),
        accumulation=draw(st.sampled_from((1, 4))),
        task=task,
        lora_rank=0 if task == "pretrain" else 8,
        trainable_params=None if task == "pretrain" else 1_000_000,
        precision=draw(st.sampled_from(("bf16", "pure-bf16", "fp32"))),
        recompute=draw(st.sampled_from(("none", "selective", "full"))),
        attention=draw(st.sampled_from(("flash", "sdpa-math"))),
        loss=draw(st.sampled_from(("eager", "fused", "chunked", "vocab-parallel"))),
        compile=draw(st.sampled_from(("none", "regional", "full"))),
        optimizer=draw(st.sampled_from(("adamw", "adamw-foreach", "adamw8bit", "sgd", "muon"))),
        offload=draw(st.sampled_from(("none", "optimizer", "params+optimizer"))),
    )
