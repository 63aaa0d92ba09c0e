"""A plan as a whole: its parts add up, its bounds hold, better hardware never makes it worse."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.models import load_model, model_from_config
from planner.planning.outline import outline
from planner.planning.plan import plan, verdict_of
from planner.planning.scenario import scenario
from planner.run import Run
from tests.planning.jobs import A100, H100, bones, fine_tune, job

MODELS = ("gpt2-124m", "llama-3-8b", "mixtral-8x7b", "bert-base", "t5-small", "deepseek-v3")


def numbers(value: Any) -> list[float]:
    """Every number inside a JSON value."""
    if isinstance(value, dict):
        return [each for item in value.values() for each in numbers(item)]
    if isinstance(value, list):
        return [each for item in value for each in numbers(item)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


@pytest.mark.parametrize("model", MODELS)
def test_parts_add_up_to_totals(model: str) -> None:
    made = plan(job(model, data__seq_len=512, training__layout="auto", training__stack=None))
    assert sum(made.step.parts.values()) == pytest.approx(made.step.seconds)
    assert sum(made.memory.parts.values()) == pytest.approx(made.memory.peak_bytes)
    assert sum(made.run.parts.values()) == pytest.approx(made.run.seconds)
    for stage in made.memory.stages:
        assert sum(stage["parts"].values()) == pytest.approx(stage["peak_bytes"])


@settings(max_examples=30)
@given(
    model=st.sampled_from(MODELS),
    sku=st.sampled_from([H100, A100, "rtx-4090", "v100-sxm2-32gb", "tpu-v5p", "mi300x"]),
    power=st.integers(0, 8),
    seq_len=st.sampled_from([1, 7, 512, 4096]),
    task=st.sampled_from(["pretrain", "full-ft", "lora", "qlora"]),
)
def test_every_number_of_a_plan_is_finite_and_bounded(
    model: str, sku: str, power: int, seq_len: int, task: str
) -> None:
    run = Run(
        model=model,
        data={"samples": 10**6, "seq_len": seq_len},
        hardware={"sku": sku, "count": 1 << power, "interconnect": 400},
        training={"task": task, "global_batch": 1 << power},
    )
    made = plan(run)
    assert all(math.isfinite(each) for each in numbers(made.to_json()))
    for part in (made.step, made.run):
        assert part.low <= part.seconds <= part.high
    assert made.memory.low <= made.memory.peak_bytes <= made.memory.high
    assert 0 <= made.fit_probability <= 1
    assert 0 < made.throughput.mfu < 1


@settings(max_examples=20)
@given(factor=st.floats(1.0, 10.0), layout=st.sampled_from(["sharding=fsdp", "tp=8", "pp=4,tp=2"]))
def test_a_step_takes_no_longer_on_faster_memory_or_a_faster_network(
    factor: float, layout: str
) -> None:
    each = scenario(job(training__layout=layout))
    part = each.accelerator
    assert part.memory_bandwidth
    slower = outline(each).step.seconds
    faster_memory = replace(part, memory_bandwidth=part.memory_bandwidth * factor)
    faster_network = replace(each, network_bytes_per_second=each.network_bytes_per_second * factor)
    assert outline(replace(each, accelerator=faster_memory)).step.seconds <= slower * 1.0001
    assert outline(faster_network).step.seconds <= slower * 1.0001


@settings(max_examples=20)
@given(factor=st.floats(1.0, 10.0), model=st.sampled_from(MODELS[:3]))
def test_more_memory_never_makes_a_plan_infeasible(factor: float, model: str) -> None:
    each = scenario(job(model, data__seq_len=1024))
    part = each.accelerator
    assert part.usable_bytes
    larger = outline(
        replace(each, accelerator=replace(part, usable_bytes=part.usable_bytes * factor))
    )
    before = outline(each)
    assert larger.fit_probability >= before.fit_probability - 1e-12
    assert larger.fits or not before.fits


@settings(max_examples=20)
@given(st.integers(1, 1000), st.integers(2, 9))
def test_time_grows_with_the_tokens(billions: int, factor: int) -> None:
    short = bones(job(data__tokens=billions * 10**9)).run
    long = bones(job(data__tokens=factor * billions * 10**9)).run
    assert long.steps == pytest.approx(factor * short.steps, abs=factor)
    assert long.parts["training"] == pytest.approx(factor * short.parts["training"], rel=0.01)


def test_one_device_communicates_nothing() -> None:
    parts = plan(fine_tune("gpt2-124m")).step.parts
    silent = (
        "tensor_parallel",
        "context_parallel",
        "expert_parallel",
        "sharding",
        "data_parallel",
        "pipeline",
    )
    assert {name: parts[name] for name in silent} == dict.fromkeys(silent, 0.0)


def test_a_model_at_hand_is_planned_without_its_name() -> None:
    model = load_model("llama-3-8b")
    assert plan(job("gpt2-124m"), model=model).model.params_total == model.params_total


def test_a_slow_loader_sets_the_pace_and_is_a_part_of_the_step() -> None:
    made = plan(job(data__loader_rate=1))  # samples a second for each of eight hosts
    assert made.step.bottleneck == "input"
    assert made.step.seconds == pytest.approx(1024 / 8)
    assert made.step.low == made.step.seconds
    assert made.throughput.samples_per_second == pytest.approx(8)


@pytest.mark.parametrize("rate", [1e-6, 0.1, 0.7, 3.0, 100.0])
def test_a_pace_set_by_the_loader_has_no_width(rate: float) -> None:
    made = plan(fine_tune("gpt2-124m", data__loader_rate=rate)).run
    assert made.low <= made.seconds <= made.high


def test_a_model_without_a_vocabulary_is_planned() -> None:
    config = {"model_type": "vit", "architectures": ["ViTForImageClassification"]}
    config |= {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}
    config |= {"intermediate_size": 3072, "image_size": 224, "patch_size": 16}
    model = model_from_config(config | {"num_channels": 10**6, "num_labels": 10})
    made = plan(fine_tune(training__loss="chunked", data__seq_len=None), model=model)
    assert math.isfinite(made.step.seconds)
    assert math.isfinite(made.memory.peak_bytes)


def test_a_fast_loader_changes_nothing() -> None:
    assert plan(job(data__loader_rate=10**6)).step == plan(job()).step


def test_fine_tuning_has_no_loss_and_says_why() -> None:
    made = plan(fine_tune())
    assert made.loss.value is None
    assert "full-ft" in (made.loss.reason or "")
    assert made.stop is None


def test_repeated_data_is_forecast_by_the_law_that_knows_it() -> None:
    once, again = plan(job()).loss, plan(job(data__unique_tokens=10**10)).loss
    assert again.law == "muennighoff2023"
    assert once.value is not None
    assert again.value is not None
    assert again.value > once.value


@pytest.mark.parametrize(
    ("probability", "word"), [(0.95, "fits"), (0.5, "uncertain"), (0.05, "does-not")]
)
def test_the_verdict_follows_the_probability(probability: float, word: str) -> None:
    assert verdict_of(probability) == word


def test_hours_at_half_the_price_cost_half() -> None:
    spot, demand = plan(job(price__mode="spot")).cost, plan(job()).cost
    assert spot.usd is not None
    assert demand.usd is not None
    assert spot.per_device_hour is not None
    assert demand.per_device_hour is not None
    assert spot.usd / demand.usd == pytest.approx(spot.per_device_hour / demand.per_device_hour)


def test_a_laptop_gpu_widens_the_time_by_the_power_that_nobody_states() -> None:
    laptop, desktop = (
        plan(fine_tune("llama-3.2-1b", training__task="lora", hardware__sku=sku))
        for sku in ("rtx-4090-laptop", "rtx-4090")
    )
    assert laptop.step.high / laptop.step.low > 1.3 * desktop.step.high / desktop.step.low
    assert any("maker of the laptop" in reason for reason in laptop.evidence.reasons)


def test_a_laptop_holds_one_gpu_so_two_need_a_network() -> None:
    run = fine_tune("llama-3.2-1b", hardware__sku="rtx-4090-laptop", hardware__count=2)
    with pytest.raises(PlannerError, match=r"hardware.interconnect \(--interconnect\)"):
        plan(run)
