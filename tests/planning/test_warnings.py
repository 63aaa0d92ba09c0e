"""Warnings: what is allowed but probably not meant."""

from __future__ import annotations

import pytest

from planner.planning.plan import plan
from planner.run import Run
from tests.planning.jobs import fine_tune, job

V100 = "v100-sxm2-32gb"


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (fine_tune(hardware__sku=V100, training__precision="bf16"), "bf16 is emulated on v100"),
        (fine_tune(hardware__sku="p100-sxm2-16gb"), "fp32 or fp16 with loss scaling"),
        (fine_tune("t5-small", training__precision="fp16"), "trained in bf16"),
        (job(training__precision="pure-bf16"), "no FP32 master weights"),
        (job(training__precision="fp8"), "does not shrink memory"),
        (fine_tune(training__layout="sharding=zero2"), "shards nothing"),
        (job(training__layout="tp=16", training__stack="megatron"), "crosses nodes"),
        (job(training__layout="tp=16", training__stack="megatron"), "8 key-value heads"),
        (job(training__layout="pp=64", training__stack="megatron", data__seq_len=512), None),
        (job(data__seq_len=16384), "pass the model's 8192"),
        (job(data__unique_tokens=10**9), "repeats 1000 times"),
        (job(), "weight the loss by tokens"),
        (job(data__loader_rate=1), "data loader sets the pace"),
        (fine_tune(hardware__sku=V100, training__precision="fp16"), "memory-efficient kernel"),
    ],
)
def test_a_doubtful_choice_is_warned_about(run: Run, words: str | None) -> None:
    if words is None:
        with pytest.raises(ValueError, match="layers"):
            plan(run)
        return
    assert any(words in text for text in plan(run).warnings)


def test_a_usual_run_has_no_warning_about_formats() -> None:
    assert not any("bf16" in text for text in plan(job()).warnings)


def test_what_an_alias_was_read_as_is_said() -> None:
    made = plan(job(hardware__sku="A100-80GB"))
    assert made.chosen["sku"] == "a100-sxm4-80gb"
    assert "SXM" in made.chosen["reasons"]["sku"]
