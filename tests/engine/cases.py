"""Configurations that the engine's tests share, and a strategy that varies them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

import hardware_db
from planner.engine.batch import Batch, batch_of
from planner.engine.configuration import Configuration
from planner.models import load_model
from planner.stacks import stack

NETWORK = 50e9  # bytes/s one way per accelerator


def configuration(model: str = "llama-3-8b", **changes: object) -> Configuration:
    """A run on eight H100 of one node, changed as asked."""
    base = Configuration(
        model=load_model(model),
        sku="h100-sxm5-80gb",
        num_devices=8,
        devices_per_node=8,
        network_bytes_per_second=NETWORK,
        seq_len=2048,
        micro_batch=1,
        accumulation=4,
        dp=8,
        stack="megatron",
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def batch(*configurations: Configuration) -> Batch:
    return batch_of(configurations, hardware_db.accelerator, stack)


PARTS = [
    ("a100-sxm4-80gb", "bf16"),
    ("h100-sxm5-80gb", "fp8"),
    ("v100-sxm2-32gb", "fp16"),
    ("tpu-v5p", "bf16"),
    ("a100-sxm4-40gb", "fp32"),
]


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    """Valid configurations over models, parts, layouts, recipes and batches."""
    model = draw(st.sampled_from(["gpt2-124m", "llama-3-8b", "mixtral-8x7b", "deepseek-v3"]))
    tp = draw(st.sampled_from([1, 2, 4]))
    pp = draw(st.sampled_from([1, 2, 4]))
    dp = draw(st.sampled_from([1, 2, 8, 32]))
    sku, precision = draw(st.sampled_from(PARTS))
    mixture = model in ("mixtral-8x7b", "deepseek-v3")
    ep = draw(st.sampled_from([1, 2])) if mixture and dp > 1 else 1
    return configuration(
        model,
        sku=sku,
        num_devices=tp * pp * dp,
        devices_per_node=min(8, tp * pp * dp),
        tp=tp,
        pp=pp,
        dp=dp,
        ep=ep,
        sharding=draw(st.sampled_from(["none", "zero1", "zero2", "zero3"])) if dp > 1 else "none",
        sequence_parallel=tp > 1 and draw(st.booleans()),
        micro_batch=draw(st.sampled_from([1, 2, 8])),
        accumulation=draw(st.sampled_from([1, 4, 16])),
        seq_len=draw(st.sampled_from([512, 2048, 8192])),
        recompute=draw(st.sampled_from(["none", "selective", "full"])),
        attention=draw(st.sampled_from(["flash", "sdpa-math"])),
        loss=draw(st.sampled_from(["eager", "fused", "chunked", "vocab-parallel"])),
        precision=precision,
        stack=draw(st.sampled_from(["megatron", "torchtitan", "hf-trainer", "megatron-2021"])),
    )
