"""Cases of kind B about the machine: what is usable of the nameplate, and what saving needs."""

from __future__ import annotations

import pytest

import hardware_db
from planner.planning.plan import plan
from planner.run import Run

GIB = 2.0**30


@pytest.mark.parametrize(
    ("sku", "low", "high"),
    [
        ("a100-sxm4-80gb", 79.15, 79.2),
        ("a800-sxm4-80gb", 79.35, 79.35),
        ("v100-sxm2-32gb", 31.72, 31.75),
        ("t4", 14.56, 14.56),
    ],
)
def test_u28_usable_memory_is_what_out_of_memory_messages_print(
    sku: str, low: float, high: float
) -> None:
    usable = hardware_db.accelerator(sku).usable_bytes
    assert usable is not None
    assert low - 0.5 <= usable / GIB <= high + 0.5


def test_u28_the_context_and_fragmentation_are_counted_before_a_fit_is_claimed() -> None:
    made = plan(
        Run(
            model="llama-2-7b",
            data={"samples": 1000, "seq_len": 1024},
            hardware={"sku": "a100-sxm4-80gb", "count": 1},
            training={"task": "lora", "micro_batch": 1},
        )
    )
    assert 0.3 <= made.memory.parts["context"] / GIB <= 1.0
    assert made.memory.parts["reserve"] > 0
    assert made.memory.capacity_bytes < 80e9 * 1.074


@pytest.mark.parametrize(
    ("model", "params", "low", "high"),
    [("llama-2-7b", 6.74e9, 84, 112), ("llama-2-70b", 69e9, 840, 1120)],
)
def test_u30_a_checkpoint_with_the_optimizer_takes_12_to_16_bytes_a_parameter(
    model: str, params: float, low: float, high: float
) -> None:
    made = plan(
        Run(
            model=model,
            data={"tokens": "1B", "seq_len": 4096},
            hardware={"sku": "h100-sxm5-80gb", "count": 64},
            training={"stack": "megatron", "recompute": "full"},
        )
    )
    size = made.memory.checkpoint_bytes / 1e9
    scale = params / (7e9 if params < 1e10 else 70e9)
    assert low * 0.85 <= size / scale <= high * 1.15


def test_u30_gathering_on_one_rank_is_shown_beside_the_training_peak() -> None:
    made = plan(
        Run(
            model="llama-2-70b",
            data={"samples": 1000, "seq_len": 512},
            hardware={"sku": "a6000", "count": 8},
            training={"task": "lora", "micro_batch": 1, "layout": "sharding=fsdp"},
        )
    )
    saving = made.memory.phases["saving_full_checkpoint"]
    assert saving > made.memory.capacity_bytes > made.memory.phases["initialisation"]
