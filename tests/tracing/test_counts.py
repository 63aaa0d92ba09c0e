"""Counts of a trace against hand counts and torch's own tracker."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="tracing needs torch")

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker

from planner.engine.table import Table, Work
from planner.models.traced import packed, traced_model
from planner.search.module_file import subject
from planner.tracing.child import table
from planner.tracing.presets import PRESETS, table_of
from planner.tracing.steps import built, traced

SMALL = Path(__file__).parent / "modules" / "small.py"


@cache
def traced_table(function: str, shape: tuple[int, ...], *formats: str) -> Table:
    what = subject(f"{SMALL}:{function}", shape)
    found = packed(table(what, formats or ("fp32",)))
    made = traced_model(found, name=function, input_shape=shape).table
    assert made is not None
    return made


def work(
    function: str, shape: tuple[int, ...], precision: str = "fp32", again: str = "none"
) -> Work:
    formats = {"fp32": "fp32", "bf16": "mixed"}[precision]
    return traced_table(function, shape, formats).work(precision, again)


def flops(found: Work, direction: str, *names: str) -> float:
    return sum(
        row.flops[1] * row.count
        for row in found.rows
        if row.direction == direction and (not names or row.name in names)
    )


def test_an_mlp_is_counted_as_by_hand() -> None:
    made = traced_table("mlp", (8,))
    assert made.params == made.trainable == 8 * 16 + 16 + 16 * 4 + 4
    found = made.work("fp32")
    assert flops(found, "forward") == 2 * (8 * 16 + 16 * 4)
    assert flops(found, "backward") == 2 * (8 * 16 + 2 * 16 * 4)  # no gradient of the input
    assert found.flops[0] == 0


def test_an_mlp_keeps_its_inputs_its_relu_and_its_output() -> None:
    assert work("mlp", (8,)).saved == (4.0, 4.0 * (8 + 16 + 4))  # and the loss, all in FP32


def test_a_unet_is_counted_as_by_hand() -> None:
    made = traced_table("unet", (1, 16, 16))
    assert made.params == (9 * 4 + 4) + (9 * 4 * 8 + 8) + (8 * 4 * 4 + 4) + (8 * 2 + 2)
    down, middle, out = 2 * 256 * 4 * 9, 2 * 64 * 8 * 36, 2 * 256 * 2 * 8
    up = 2 * 64 * 8 * 4 * 4  # each input position gives 2x2 positions of 4 channels
    found = made.work("fp32")
    assert flops(found, "forward") == down + middle + up + out
    assert flops(found, "backward") == down + 2 * (middle + up + out)


def test_a_depthwise_convolution_is_one_product_for_each_channel() -> None:
    found = work("depthwise", (16, 8, 8))
    row = next(row for row in found.rows if row.direction == "forward" and row.flops[1])
    assert row.dims == ((0.0, 64.0), (1.0, 0.0), (9.0, 0.0), (16.0, 0.0))
    assert row.flops == (0.0, 2 * 64 * 16 * 9)


@pytest.mark.parametrize(("function", "share"), [("attention", 1.0), ("causal_attention", 0.5)])
def test_attention_on_a_processor_counts_both_products(function: str, share: float) -> None:
    found = work(function, (24, 32))
    length, heads, width = 24, 2, 16
    counted = [row for row in found.rows if row.kind == "attention"]
    forward = 4 * heads * length * length * width * share
    assert [row.flops[1] for row in counted] == [forward, 2.5 * forward]
    assert (counted[0].head_dim, counted[0].keys) == (width, length * share)


def test_tied_weights_are_counted_once_and_worked_with_twice() -> None:
    made = traced_table("tied", (8,))
    assert (made.params, made.tensors) == (64, 1)
    assert flops(made.work("fp32"), "forward") == 2 * 2 * 64


def test_frozen_weights_take_no_gradient() -> None:
    made = traced_table("frozen", (8,))
    assert made.trainable == 16 * 4 + 4
    assert flops(made.work("fp32"), "backward") == 2 * 16 * 4


def test_a_constructor_may_read_values_and_dropout_keeps_a_byte_an_element() -> None:
    found = traced_table("rated", (8,))
    assert found.params == 2 * (64 + 8)
    saved = 4 * 8 + 8 + 4 * 8 + 4 * 8  # input, mask, what dropout gives, output
    assert found.work("fp32").saved == (4.0, saved)


def test_dropout_that_is_recomputed_keeps_one_mask_an_element() -> None:
    kept = [work("dropped_blocks", (8,), again=again) for again in ("none", "full")]
    # two blocks keep x (8), the mask (32 of 1 byte) and what is dropped (32), or x alone; both
    # keep the last output, whose square is the loss
    assert [each.saved[1] for each in kept] == [4 * (2 * (8 + 32) + 8) + 2 * 32, 4 * (2 * 8 + 8)]


def test_attention_of_torchs_own_encoder_is_one_kernel_that_keeps_no_scores() -> None:
    for again in ("none", "full"):
        found = work("encoder", (64, 32), again=again)
        assert {row.name for row in found.rows if row.kind == "attention"}
        assert not any("softmax" in row.name for row in found.rows)


def test_a_module_that_is_moved_and_converted_is_traced_with_its_ties() -> None:
    found = traced_table("converted", (8,))
    assert found.params == 64
    assert work("converted", (8,)).flops == work("tied", (8,)).flops


def test_autocast_multiplies_in_sixteen_bits() -> None:
    widths = {row.width for row in work("mlp", (8,), "bf16").rows if row.kind == "product"}
    assert widths == {2}


def test_recomputation_keeps_the_inputs_of_a_unit_and_repeats_all_but_its_last_product() -> None:
    plain, full = (work("blocks", (64,), again=word) for word in ("none", "full"))
    assert full.flops[1] - plain.flops[1] == 4 * 2 * 64 * 256
    assert full.saved[1] < 0.5 * plain.saved[1]


@pytest.mark.parametrize("number_format", ["fp32", "mixed"])
@pytest.mark.parametrize(("function", "shape"), [("unet", (1, 32, 32)), ("attention", (64, 32))])
def test_the_peak_is_that_of_torchs_tracker(
    function: str, shape: tuple[int, ...], number_format: str
) -> None:
    size = 16
    found = traced_table(function, shape, number_format).works[number_format, "none"]
    ours = max(a + b * size + gradients for a, b, gradients in found.moments)
    with FakeTensorMode():
        module = built(subject(f"{SMALL}:{function}", shape))
        images = torch.randn(size, *shape)
        tracker = MemTracker()
        tracker.track_external(module, images)
        with tracker:
            with torch.autocast("cpu", torch.bfloat16, enabled=number_format == "mixed"):
                loss = module(images).float().square().mean()
            loss.backward()
        peak = tracker.get_tracker_snapshot("peak")[torch.device("cpu")]
    theirs = peak["Total"] - sum(each.numel() * 4 for each in module.parameters())
    assert ours == pytest.approx(theirs, rel=0.02)


def test_a_trace_at_another_batch_lies_on_the_line() -> None:
    what = subject(f"{SMALL}:unet", (1, 16, 16))
    _, (step,) = traced(what, "mixed", "none", (32,))
    found = work("unet", (1, 16, 16), "bf16")
    assert max(a + g for a, g in step.moments) == pytest.approx(
        max(a + b * 32 + gradients for a, b, gradients in found.moments)
    )
    assert step.saved == found.saved[0] + 32 * found.saved[1]


def test_the_stored_resnet_is_a_fresh_trace_of_our_module() -> None:
    import json

    from planner.models.config import read_json
    from planner.tracing.presets import FOLDER

    stored: Any = read_json(FOLDER / "resnet-50.json")
    fresh = json.loads(json.dumps(table_of(PRESETS["resnet-50"], ["mixed"], ["none"])))
    for name in ("params", "trainable", "tensors", "largest", "buffer_bytes", "units", "unit"):
        assert stored[name] == fresh[name], name
    assert stored["variants"]["mixed"]["none"] == fresh["variants"]["mixed"]["none"]
