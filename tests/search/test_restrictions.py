"""What the user fixes, forbids, bounds and adds, and how contradictions are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from planner.errors import PlannerError
from planner.search.restrictions import restrictions
from planner.search.space import space
from tests.search.jobs import job, limits, small


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"fix": ["tp=8"], "forbid": ["tp=8"]}, "forbidden too"),
        ({"fix": ["tp=8"], "bound": ["tp=1..4"]}, "outside --bound tp=1..4"),
        ({"fix": ["tp=8", "tp=4"]}, "fixed twice"),
        ({"fix": ["tp=8"], "tries": ["tp=2,4"]}, "conflicts with --try"),
        ({"bound": ["tp=8..1"]}, "lower bound is above"),
        ({"bound": ["tp=1..2", "tp=1..4"]}, "bounded twice"),
        ({"bound": ["precision=1..2"]}, "NAME=LOW..HIGH"),
        ({"bound": ["tp=4"]}, "NAME=LOW..HIGH"),
        ({"bound": ["tp=.."]}, "NAME=LOW..HIGH"),
        ({"forbid": ["tp"]}, "write NAME=VALUE"),
        ({"fix": ["tpp=8"]}, "did you mean tp"),
        ({"fix": ["precision=bf17"]}, "did you mean bf16"),
        ({"fix": ["tp=-1"]}, "tp"),
        ({"fix": ["tp=1.5"]}, "tp"),
        ({"tries": ["sku=h100x"]}, "sku"),
    ],
)
def test_contradictions_and_slips_are_refused(flags: dict[str, list[str]], says: str) -> None:
    with pytest.raises(PlannerError, match=says):
        restrictions(**flags)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"fix": ["tp=3"]}, "no tp·pp·cp divides"),
        ({"fix": ["dp=7"]}, "possible are 1, 2, 4"),
        ({"bound": ["tp=9..16"]}, "leaves no value of tp"),
        ({"forbid": ["precision=bf16,fp8"]}, "leaves no value of precision"),
        ({"fix": ["global_batch=255", "dp=16"]}, "no dp·micro_batch"),
        ({"fix": ["ep=2"]}, "ep|model"),
        ({"tries": ["precision=nvfp4"]}, "fp4"),
    ],
)
def test_an_empty_space_says_which_rule_emptied_it(flags: dict[str, list[str]], says: str) -> None:
    with pytest.raises(PlannerError, match=says):
        space(job(), limits(**flags))


def test_what_is_fixed_bounded_and_forbidden_is_kept() -> None:
    found = small(fix=["tp=2"], bound=["pp=..4", "dp=2.."], forbid=["micro_batch=4,8"])
    columns = found.groups[0].table.columns
    assert set(columns["tp"].tolist()) == {2}
    assert columns["pp"].max() <= 4
    assert columns["dp"].min() >= 2
    assert not set(columns["micro_batch"].tolist()) & {4, 8}


def test_every_candidate_is_valid_and_keeps_the_global_batch() -> None:
    found = small()
    columns = found.groups[0].table.columns
    product = columns["dp"] * columns["micro_batch"] * columns["accumulation"]
    assert np.all(product == 256)
    assert np.all(columns["tp"] * columns["pp"] * columns["cp"] * columns["dp"] == 16)
    rows = np.stack([columns[name] for name in columns])
    assert len(np.unique(rows, axis=1).T) == found.groups[0].table.rows, "no row twice"


def test_a_bare_name_keeps_what_the_run_says() -> None:
    run = job(training__recompute="full", training__layout="tp=4", training__precision="fp16")
    found = space(run, limits(fix=["recompute", "tp", "precision", "count"]))
    for group in found.groups:
        assert group.words["precision"] == "fp16"
        assert group.table.recomputes.tolist() == [2]
        assert set(group.table.columns["tp"].tolist()) == {4}


def test_a_larger_batch_costs_tokens_and_a_smaller_one_saves_them() -> None:
    found = space(job(), limits(tries=["global_batch=128,256,512"], fix=["count", "precision"]))
    penalties = found.lengthened.penalties
    assert penalties[256].factor == 1.0
    assert penalties[128].factor < 1 < penalties[512].factor
    assert penalties[512].low < penalties[512].factor < penalties[512].high
    steps = found.lengthened.steps
    assert steps[128] > steps[256] > steps[512]


def test_other_batches_of_a_fine_tune_are_refused() -> None:
    run = job(training__task="full-ft")
    with pytest.raises(PlannerError, match="no law says"):
        space(run, limits(tries=["global_batch=128,256"]))


def test_the_command_line_refuses_in_one_line(forerun: Callable[..., Any]) -> None:
    words = ["--model", "llama-3-8b", "--tokens", "1e11", "--seq-len", 4096]
    words += ["--sku", "h100-sxm5-80gb", "--count", 16]
    for flags in (["--bound", "tp=9..2"], ["--by", "speed"], ["--weights", "time=1"]):
        answer = forerun("search", *words, *flags)
        assert answer.status == 2
        assert len(answer.err.strip().splitlines()) == 1
        assert flags[0] in answer.err
    for flags in (["--study", "x"], ["--worker"], ["--storage", "sqlite:///x.db"]):
        assert "--trials" in forerun("search", *words, *flags).err


@pytest.mark.parametrize(
    ("stack", "model", "tried"),
    [
        ("torchtitan", "llama-3-8b", {"eager"}),
        ("torchtitan-2026", "llama-3-8b", {"chunked"}),
        ("megatron", "llama-3-8b", {"vocab-parallel", "fused"}),
        ("hf-trainer", "llama-3-8b", {"eager", "chunked"}),
        ("hf-trainer", "gpt2-xl", {"eager"}),
    ],
)
def test_only_losses_that_the_stack_offers_are_tried(
    stack: str, model: str, tried: set[str]
) -> None:
    changes = {"training.stack": stack, "data.seq_len": 1024}
    found = space(job(model).changed(changes), limits(fix=["count", "precision", "compile"]))
    assert {group.words["loss"] for group in found.groups} == tried
    asked = space(job(model).changed(changes), limits(fix=["count"], tries=["loss=fused"]))
    assert {group.words["loss"] for group in asked.groups} == {"fused"}
