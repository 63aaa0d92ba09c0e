"""Questions that people asked about memory, answered by the engine; the cases say what is right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hardware_db
from planner.engine.batch import batch_of
from planner.engine.configuration import Configuration
from planner.engine.constants import constants
from planner.engine.memory import MemoryBytes, memory_bytes, states
from planner.engine.meters import meter_bytes
from planner.engine.weights import stage_weights
from planner.models import load_model
from planner.planning.phases import phase_bytes
from planner.stacks import stack

C = constants()
GIB = 2**30
LLAMA_7B = 6_738_415_616


def run(model: str, sku: str, devices: int = 1, **changes: Any) -> Configuration:
    """A run on one node."""
    settings: dict[str, Any] = {
        "model": load_model(model),
        "sku": sku,
        "num_devices": devices,
        "devices_per_node": 8,
        "network_bytes_per_second": 2.5e10,
        "seq_len": 512,
        "micro_batch": 1,
        "accumulation": 1,
        "dp": devices,
    }
    return Configuration(**(settings | changes))


def held(each: Configuration) -> MemoryBytes:
    return memory_bytes(batch_of([each], hardware_db.accelerator, stack), C)


def value(array: Any) -> float:
    return float(np.ravel(array)[0])


def allocated(each: Configuration) -> float:
    return value(held(each).allocated)


def fits(each: Configuration) -> bool:
    batch = batch_of([each], hardware_db.accelerator, stack)
    return value(held(each).total) <= value(batch.machine.capacity)


def states_gib(each: Configuration) -> float:
    """Weights, gradients, masters and moments as a step holds them."""
    batch = batch_of([each], hardware_db.accelerator, stack)
    own = stage_weights(batch, "first")
    kept = sum(value(part) for part in states(batch, own).values())
    return (kept + value(own.trainable) * value(batch.recipe.grad_bytes)) / GIB


@pytest.mark.parametrize(
    ("recipe", "gib"),
    [
        ({"stack": "torchtune", "precision": "pure-bf16"}, 50.2),
        ({"stack": "nemo", "sharding": "none"}, 100.4),
        ({"stack": "hf-trainer-4"}, 100.4),
        ({"stack": "megatron", "sharding": "none"}, 113.0),
        ({"stack": "megatron-2021", "precision": "fp16"}, 125.5),
    ],
    ids=["pure bf16", "bf16 gradients and fp32 master", "autocast", "fp32 gradients", "fp16"],
)
def test_u12_each_recipe_has_its_own_bytes_per_parameter(
    recipe: dict[str, Any], gib: float
) -> None:
    assert load_model("llama-2-7b").params_total == LLAMA_7B
    assert states_gib(run("llama-2-7b", "a100-sxm4-80gb", **recipe)) == pytest.approx(gib, rel=0.01)


def test_u12_gradients_that_come_and_go_leave_twelve_bytes() -> None:
    parts = held(run("llama-2-7b", "a100-sxm4-80gb", stack="hf-trainer-4", seq_len=64))
    kept = value(parts.weights) + value(parts.moments)
    assert kept / GIB == pytest.approx(75.3, rel=0.01)


U13: dict[str, Any] = {"stack": "torchtune", "precision": "pure-bf16", "recompute": "full"}


@pytest.mark.parametrize(
    ("optimizer", "gigabytes", "tolerance"),
    [("sgd", 27.83, 0.05), ("adamw-fused", 54.0, 0.1), ("adamw8bit", 40.5, 0.1)],
)
def test_u13_true_bf16_on_one_device(optimizer: str, gigabytes: float, tolerance: float) -> None:
    peak = allocated(run("llama-2-7b", "a100-sxm4-80gb", optimizer=optimizer, **U13))
    assert peak / 1e9 == pytest.approx(gigabytes, rel=tolerance)


def test_u13_a_foreach_update_adds_one_copy_of_the_parameters() -> None:
    peaks = [
        allocated(run("llama-2-7b", "a100-sxm4-80gb", optimizer=word, **U13))
        for word in ("adamw-fused", "adamw-foreach")
    ]
    assert (peaks[1] - peaks[0]) / 1e9 == pytest.approx(13.5, rel=0.05)


U14: dict[str, Any] = {
    "stack": "litgpt",
    "task": "lora",
    "lora_rank": 8,
    "lora_targets": ("q", "v"),
    "trainable_params": 4_194_304,
    "loss": "chunked",
    "seq_len": 1304,
    "accumulation": 16,
}


@pytest.mark.parametrize(("micro_batch", "gigabytes"), [(1, 21.3), (2, 29.07)])
def test_u14_activations_decide_adapter_training(micro_batch: int, gigabytes: float) -> None:
    each = run("llama-2-7b", "a100-sxm4-40gb", micro_batch=micro_batch, **U14)
    assert allocated(each) / 1e9 == pytest.approx(gigabytes, rel=0.15)
    assert fits(each)


def test_u14_four_samples_do_not_fit_and_a_four_bit_base_saves_seven_gigabytes() -> None:
    assert not fits(run("llama-2-7b", "a100-sxm4-40gb", micro_batch=4, **U14))
    quantised = run("llama-2-7b", "a100-sxm4-40gb", **(U14 | {"task": "qlora"}))
    assert allocated(quantised) / 1e9 == pytest.approx(14.14, rel=0.15)


def test_u14_sixteen_bit_mixed_precision_over_fp32_weights_does_not_fit() -> None:
    mixed = run("llama-2-7b", "a100-sxm4-40gb", **(U14 | {"precision": "fp32"}))
    assert value(held(mixed).frozen) == pytest.approx(4 * LLAMA_7B, rel=0.01)
    assert not fits(replace(mixed, micro_batch=2))


U17: dict[str, Any] = {"stack": "deepspeed", "sharding": "zero2", "seq_len": 128}


def test_u17_sharding_over_one_device_shards_nothing() -> None:
    each = run("llama-3.1-8b", "a100-sxm4-80gb", recompute="full", **U17)
    assert not fits(each)
    assert states_gib(each) == pytest.approx(119.7, rel=0.01)
    batch = batch_of([each], hardware_db.accelerator, stack)
    assert phase_bytes(batch, C)["initialisation"] / GIB == pytest.approx(44.9, rel=0.1)
    assert fits(replace(each, offload="optimizer"))


@pytest.mark.parametrize(
    ("devices", "sharding", "right"),
    [(4, "zero2", False), (8, "zero2", True), (4, "zero3", True), (2, "zero3", False)],
)
def test_u18_stages_of_zero_on_thirteen_billion(devices: int, sharding: str, right: bool) -> None:
    each = run(
        "llama-2-13b",
        "a800-sxm4-80gb",
        devices,
        stack="deepspeed",
        sharding=sharding,
        recompute="full",
    )
    (block,) = each.model.blocks
    larger = replace(each.model, blocks=(replace(block, count=43),))
    assert larger.params_total == pytest.approx(13.9e9, rel=0.01)
    assert fits(replace(each, model=larger)) is right


def test_u21_offloading_everything_still_needs_more_than_the_states() -> None:
    each = run(
        "gpt-j-6b",
        "a100-sxm4-40gb",
        4,
        stack="deepspeed",
        sharding="zero3",
        offload="params+optimizer",
        seq_len=2048,
    )
    parts = held(each)
    assert value(parts.total) > 10e9
    assert min(value(parts.gathered), value(parts.buffers), value(parts.context)) > 0


def test_u22_stage_two_divides_gradients() -> None:
    each = run("t5-3b", "a100-sxm4-80gb", 8, stack="deepspeed", sharding="zero2")
    parts = held(replace(each, accumulation=4))
    names = ("weights", "gradients", "master_weights", "moments")
    kept = sum(value(getattr(parts, name)) for name in names)
    assert kept / GIB == pytest.approx(9.96, rel=0.01)


def test_u23_logits_of_a_small_model_are_the_top_line_in_several_copies() -> None:
    each = run("qwen3-0.6b", "rtx-4090", stack="trl", recompute="full", seq_len=8192)
    batched = replace(each, micro_batch=4)
    one_copy = 4 * 32768 * 151936
    assert one_copy / GIB == pytest.approx(18.55, rel=0.02)
    parts = held(batched)
    logits = value(parts.logits)
    assert logits >= 2.5 * one_copy
    names = ("weights", "gradients", "moments", "activations", "gathered", "working")
    assert logits > max(value(getattr(parts, name)) for name in names)
    assert not fits(batched)
    assert value(held(replace(batched, loss="chunked")).logits) < one_copy


def longest(attention: str, recompute: str) -> int:
    """The longest power of two that fits on 40 GB."""
    lengths = [2**power for power in range(10, 17)]
    settings = {"stack": "megatron", "attention": attention, "recompute": recompute}
    return max(
        length
        for length in lengths
        if fits(run("santacoder", "a100-sxm4-40gb", seq_len=length, **settings))
    )


@pytest.mark.parametrize(
    ("attention", "recompute", "right"),
    [
        ("sdpa-math", "none", 2048),
        ("sdpa-math", "selective", 8192),
        ("sdpa-math", "full", 8192),
        ("flash", "none", 8192),
        ("flash", "full", 32768),
    ],
)
def test_u27_scores_limit_the_sequence_without_flash(
    attention: str, recompute: str, right: int
) -> None:
    assert right / 2 <= longest(attention, recompute) <= right * 2


def test_u27_selective_recomputation_saves_little_with_flash_which_grows_linearly() -> None:
    peaks = [
        allocated(run("santacoder", "a100-sxm4-80gb", stack="megatron", seq_len=8192, recompute=w))
        for w in ("none", "selective")
    ]
    assert 0 <= 1 - peaks[1] / peaks[0] < 0.05
    kept = [
        value(held(run("santacoder", "a100-sxm4-80gb", stack="megatron", seq_len=s)).activations)
        for s in (8192, 16384)
    ]
    assert kept[1] / kept[0] == pytest.approx(2, rel=0.02)


def test_u27_plans_without_flash_carry_the_quadratic_term() -> None:
    settings: dict[str, Any] = {"stack": "megatron-2021", "precision": "fp16", "seq_len": 1024}
    plain = run("gpt2-large", "v100-sxm2-32gb", micro_batch=4, attention="sdpa-math", **settings)
    scores = 36 * 20 * 1024**2 * 4 * (2 + 2 + 1)  # softmax, its dropout and its mask, all layers
    difference = value(held(plain).activations) - value(
        held(replace(plain, attention="flash")).activations
    )
    assert difference == pytest.approx(scores, rel=0.25)
    assert not fits(plain)


def test_u47_fp8_does_not_shrink_memory_by_itself() -> None:
    settings: dict[str, Any] = {
        "stack": "torchtitan",
        "sharding": "zero3",
        "seq_len": 8192,
        "micro_batch": 2,
        "recompute": "selective",
        "compile": "regional",
    }
    shown = []
    for precision in ("bf16", "fp8"):
        each = run("llama-3.1-8b", "h100-sxm5-80gb", 8, precision=precision, **settings)
        batch = batch_of([each], hardware_db.accelerator, stack)
        shown.append(value(meter_bytes(batch, held(each), C, "reserved")) / GIB)
    assert shown[1] == pytest.approx(shown[0], rel=0.05)
    assert shown[0] == pytest.approx(77.0, rel=0.1)
