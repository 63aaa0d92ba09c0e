"""Peak memory: what must hold whatever the model, the layout and the software."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine.configuration import Configuration
from planner.engine.constants import constants
from planner.engine.memory import MemoryBytes, loading, memory_bytes, states, step_of
from planner.engine.meters import meter_bytes
from planner.engine.weights import stage_weights
from planner.models import load_model
from planner.planning.intervals import memory_spread
from tests.engine.runs import configuration, configurations, first, many, one

C = constants()
NAMES = tuple(item.name for item in fields(MemoryBytes))
ROUNDING = 1 + 1e-9


def total(each: Configuration) -> float:
    """Bytes that the device shows at the peak."""
    return first(memory_bytes(one(each), C).total)


@given(configurations())
def test_parts_add_up_to_the_total_and_none_is_negative(each: Configuration) -> None:
    held = memory_bytes(one(each), C)
    parts = [first(getattr(held, name)) for name in NAMES]
    assert sum(parts) == pytest.approx(first(held.total))
    assert min(parts) >= 0


@given(configurations())
def test_meters_count_ever_more(each: Configuration) -> None:
    batch = one(each)
    held = memory_bytes(batch, C)
    names = ("allocated", "reserved", "nvidia-smi")
    shown = [first(meter_bytes(batch, held, C, name)) for name in names]
    assert shown == sorted(shown)


@given(st.lists(configurations(), min_size=2, max_size=5))
def test_a_batch_equals_its_members_one_by_one(several: list[Configuration]) -> None:
    together = memory_bytes(many(several), C)
    for index, each in enumerate(several):
        alone = memory_bytes(one(each), C)
        for name in NAMES:
            shared = np.broadcast_to(getattr(together, name), (len(several),))
            assert shared[index] == pytest.approx(first(getattr(alone, name)), abs=1.0), name


@given(configurations())
def test_the_peak_is_the_highest_moment_of_any_pipeline_stage(each: Configuration) -> None:
    batch = one(each)
    peaks = []
    for stage in ("first", "middle", "last") if each.pp > 2 else ("first", "last"):
        held, step = stage_weights(batch, stage), step_of(batch, stage)
        kept = sum(first(part) for part in states(batch, held).values())
        standing = first(step.standing_gradients) + first(step.buffers)
        moment = max(first(step.worst.total), first(loading(batch, held)))
        peaks.append(kept + standing + moment)
    assert first(memory_bytes(batch, C).allocated) == pytest.approx(max(peaks))


@given(configurations(), st.sampled_from(("seq_len", "micro_batch")))
def test_more_tokens_never_need_less(each: Configuration, name: str) -> None:
    more = replace(each, **{name: 2 * getattr(each, name)})
    assert total(more) * ROUNDING >= total(each)


@given(configurations())
def test_more_layers_never_need_less(each: Configuration) -> None:
    *front, last = each.model.blocks
    blocks = (*front, replace(last, count=last.count + 4))
    deeper = replace(each, model=replace(each.model, blocks=blocks))
    if each.trainable_params is not None:
        grown = each.trainable_params * deeper.model.layers / each.model.layers
        deeper = replace(deeper, trainable_params=round(grown))
    assert total(deeper) * ROUNDING >= total(each)


@given(configurations())
def test_sharding_never_raises_weights_and_states(each: Configuration) -> None:
    held = [
        first(sum(states(batch, stage_weights(batch, "first")).values()))
        for batch in (one(replace(each, sharding=word)) for word in ("none", "zero1", "zero3"))
    ]
    assert held[0] * ROUNDING >= held[1]
    assert held[1] * ROUNDING >= held[2]


@given(configurations())
def test_recomputing_more_keeps_less_where_all_weights_train(each: Configuration) -> None:
    trained = replace(each, task="pretrain", trainable_params=None)
    kept = [
        first(step_of(one(replace(trained, recompute=word)), "first").head_forward.activations)
        for word in ("full", "selective", "none")
    ]
    assert kept[0] <= kept[1] * ROUNDING
    assert kept[1] <= kept[2] * ROUNDING


@pytest.mark.parametrize("stack", ["megatron", "hf-trainer", "deepspeed", "torchtitan"])
def test_one_device_has_no_communication_buffers(stack: str) -> None:
    held = memory_bytes(one(configuration(stack=stack, sharding="zero2")), C)
    assert first(held.buffers) == 0
    assert first(held.context) == C.context_bytes


def test_data_parallel_buckets_mirror_the_gradients() -> None:
    pair: dict[str, Any] = {"num_devices": 2, "dp": 2, "stack": "hf-trainer", "precision": "fp32"}
    held = memory_bytes(one(configuration(**pair)), C)
    assert first(held.buffers) == 4 * load_model("llama-3.2-1b").params_total


@given(st.floats(1e9, 1e12), st.floats(1e9, 1e12), st.floats(1.0, 4.0))
def test_more_capacity_never_makes_a_run_less_likely_to_fit(
    peak: float, capacity: float, factor: float
) -> None:
    spread = memory_spread(("adapters",))
    assert spread.below(peak, capacity * factor) >= spread.below(peak, capacity)


def test_a_cache_of_blocks_does_not_count_as_need_and_never_passes_the_capacity() -> None:
    batch = one(configuration("qwen3-0.6b", stack="ms-swift", task="full-ft", seq_len=4096))
    held = memory_bytes(batch, C)
    reserved = first(meter_bytes(batch, held, C, "reserved"))
    assert first(held.reserved) < reserved <= first(batch.machine.capacity)


def test_dense_layers_in_front_leave_the_sparse_ones_to_the_last_stage() -> None:
    batch = one(configuration("deepseek-v2-lite", num_devices=2, pp=2, accumulation=4))
    ends = [first(memory_bytes(batch, C, stage).weights) for stage in ("first", "last")]
    model = load_model("deepseek-v2-lite")
    dense, sparse = model.blocks
    layers = 14 * sparse.params
    assert ends[1] == pytest.approx(4 * (layers + model.head_params + model.final_params), rel=0.01)
    assert ends[0] < ends[1]
    assert dense.count == 1


def test_interleaving_holds_more_micro_batches_than_plain_pipelines() -> None:
    layout: dict[str, Any] = {"num_devices": 4, "pp": 4, "accumulation": 16, "stack": "megatron"}
    plain = configuration("llama-3.2-1b", **layout)
    split = replace(plain, interleave=2)
    kept = [first(memory_bytes(one(each), C, "first").activations) for each in (plain, split)]
    assert kept[1] == pytest.approx(kept[0] * (1 + 3 / 8), rel=0.01)


def test_layers_merely_split_over_devices_hold_one_micro_batch() -> None:
    split = configuration(num_devices=2, pp=2, accumulation=16, sharding="layer-split")
    piped = replace(split, sharding="none")
    kept = [first(memory_bytes(one(each), C, "first").activations) for each in (split, piped)]
    assert kept[1] == pytest.approx(2 * kept[0], rel=0.01)


def test_context_parallelism_divides_activations() -> None:
    alone = configuration(seq_len=8192, stack="megatron")
    split = replace(alone, num_devices=4, cp=4)
    kept = [first(memory_bytes(one(each), C).activations) for each in (alone, split)]
    assert kept[1] == pytest.approx(kept[0] / 4, rel=0.02)


def test_sequence_parallelism_divides_what_tensor_parallelism_repeats() -> None:
    tensor = configuration(num_devices=4, tp=4, stack="megatron", seq_len=4096)
    sequence = replace(tensor, sequence_parallel=True)
    kept = [first(memory_bytes(one(each), C).activations) for each in (tensor, sequence)]
    model = tensor.model
    # two norms and their outputs: 4 tensors of 2 bytes a layer, of which 3/4 go
    saved = 4096 * model.hidden * 2 * 4 * model.layers * 3 / 4
    assert kept[0] - kept[1] == pytest.approx(saved, rel=0.1)
