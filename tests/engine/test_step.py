"""Step time: parts, directions and limits that must hold for any configuration."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.engine.batch import Batch
from planner.engine.configuration import Configuration
from planner.engine.constants import constants
from planner.engine.step import StepSeconds, step_seconds
from tests.engine.cases import batch, configuration, configurations

MANY = settings(max_examples=60, deadline=None)


def seconds(each: Batch) -> float:
    return float(np.ravel(step_seconds(each, constants()).total)[0])


def parts(each: Configuration) -> dict[str, float]:
    step = step_seconds(batch(each), constants())
    return {item.name: float(np.ravel(getattr(step, item.name))[0]) for item in fields(StepSeconds)}


@MANY
@given(configurations())
def test_every_part_is_a_finite_time(each: Configuration) -> None:
    for name, value in parts(each).items():
        assert np.isfinite(value), name
        assert value >= -1e-12, name


@MANY
@given(configurations())
def test_parts_add_up_to_the_total(each: Configuration) -> None:
    assert sum(parts(each).values()) == pytest.approx(seconds(batch(each)), rel=1e-12)


@MANY
@given(st.lists(configurations(), min_size=2, max_size=4))
def test_a_batch_equals_its_members_one_by_one(several: list[Configuration]) -> None:
    together = np.broadcast_to(step_seconds(batch(*several), constants()).total, len(several))
    alone = [seconds(batch(each)) for each in several]
    np.testing.assert_allclose(together, alone, rtol=1e-9)


@MANY
@given(configurations(), st.sampled_from(["bandwidth", "link", "network", "matmul_peak"]))
def test_time_falls_or_stays_when_a_rate_doubles(each: Configuration, name: str) -> None:
    before = batch(each)
    machine = replace(before.machine, **{name: getattr(before.machine, name) * 2})
    assert seconds(replace(before, machine=machine)) <= seconds(before) * (1 + 1e-12)


def test_faster_memory_helps_a_run_that_waits_for_its_host() -> None:
    """What the device saves may not come back as gradients that a shorter pass hides no longer."""
    layout = {"num_devices": 128, "tp": 4, "dp": 32, "sharding": "zero1", "accumulation": 1}
    each = configuration("mixtral-8x7b", seq_len=512, precision="fp8", **layout)
    before = batch(replace(each, stack="torchtitan", year=2026))
    times = []
    for factor in (1, 2, 4, 8):
        machine = replace(before.machine, bandwidth=before.machine.bandwidth * factor)
        times.append(seconds(replace(before, machine=machine)))
    assert times == sorted(times, reverse=True)


@MANY
@given(configurations())
def test_more_micro_steps_take_longer(each: Configuration) -> None:
    more = replace(each, accumulation=each.accumulation * 2)
    assert seconds(batch(more)) > seconds(batch(each))


@MANY
@given(configurations())
def test_recomputation_takes_longer(each: Configuration) -> None:
    none, full = (replace(each, recompute=word) for word in ("none", "full"))
    assert seconds(batch(full)) > seconds(batch(none))


def test_one_device_communicates_nothing() -> None:
    alone = parts(configuration(num_devices=1, devices_per_node=1, dp=1))
    for name in ("tensor_parallel", "context_parallel", "expert_parallel", "sharding"):
        assert alone[name] == 0
    assert alone["data_parallel"] == 0
    assert alone["pipeline"] == 0


@pytest.mark.parametrize("degree", ["tp", "pp", "cp"])
def test_a_degree_above_one_brings_its_own_cost(degree: str) -> None:
    name = {"tp": "tensor_parallel", "pp": "pipeline", "cp": "context_parallel"}[degree]
    assert parts(configuration())[name] == 0
    assert parts(configuration(**{degree: 2, "dp": 4}))[name] > 0


def test_experts_bring_routing_and_exchange() -> None:
    found = parts(configuration("mixtral-8x7b", ep=8))
    assert found["routing"] > 0
    assert found["expert_parallel"] > 0
    assert parts(configuration("mixtral-8x7b"))["expert_parallel"] == 0


def test_interleaving_shrinks_the_bubble() -> None:
    plain = parts(configuration(pp=4, dp=2, accumulation=8))
    woven = parts(configuration(pp=4, dp=2, accumulation=8, interleave=4))
    assert woven["pipeline"] == pytest.approx(plain["pipeline"] / 4, rel=0.05)


def test_the_bubble_is_p_minus_1_micro_batches() -> None:
    found = parts(configuration(pp=4, dp=2, accumulation=12))
    layers = ("matmul", "attention", "elementwise", "launch")
    per_micro = sum(found[name] for name in layers) / 12
    assert found["pipeline"] == pytest.approx(3 * per_micro, rel=0.02)


def test_a_tensor_group_that_crosses_nodes_is_slower() -> None:
    inside = parts(configuration(num_devices=16, tp=8, dp=2))
    across = parts(configuration(num_devices=16, tp=16, dp=1))
    assert across["tensor_parallel"] > 1.2 * inside["tensor_parallel"]


def test_flash_attention_beats_the_plain_kernel_at_long_sequences() -> None:
    flash = parts(configuration(seq_len=8192))
    plain = parts(configuration(seq_len=8192, attention="sdpa-math"))
    assert plain["attention"] > 2 * flash["attention"]


def test_a_small_model_waits_for_the_host() -> None:
    small = parts(configuration("gpt2-124m", seq_len=128, stack="hf-trainer"))
    large = parts(configuration("llama-3-8b", seq_len=8192, stack="hf-trainer"))
    assert small["launch"] / sum(small.values()) > 0.4
    assert large["launch"] / sum(large.values()) < 0.02


def test_fp8_speeds_products_up_by_less_than_two() -> None:
    wide, narrow = (parts(configuration(precision=word)) for word in ("bf16", "fp8"))
    assert 1.2 < wide["matmul"] / narrow["matmul"] < 2


def test_frozen_weights_save_a_third_of_the_products() -> None:
    full = parts(configuration(stack="hf-trainer"))
    lora = parts(
        configuration(stack="hf-trainer", task="lora", lora_rank=16, trainable_params=40_000_000)
    )
    assert lora["matmul"] == pytest.approx(full["matmul"] * 2 / 3, rel=0.01)


def test_offload_costs_transfers() -> None:
    held, moved = (parts(configuration(offload=word)) for word in ("none", "optimizer"))
    assert held["offload"] == 0
    assert moved["offload"] > held["optimizer"] > moved["optimizer"]
