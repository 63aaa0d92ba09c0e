"""The smallest change that fits, when a run does not."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.planning.plan import plan
from planner.run import Run
from planner.run.flags import add_run_flags, run_from_args
from tests.planning.jobs import fine_tune, job

MODELS = ("gpt2-xl", "llama-2-7b", "qwen3-8b", "gemma-2-9b", "mixtral-8x7b", "t5-3b", "llama-3-70b")
SKUS = ("rtx-3060-12gb", "rtx-4090", "t4", "a100-sxm4-40gb", "h100-sxm5-80gb", "tpu-v5p")
LAYOUTS = ("auto", "tp=1", "tp=2,sharding=zero1")


def read(words: str) -> Run:
    """The run that a command line describes."""
    parser = argparse.ArgumentParser()
    add_run_flags(parser)
    return run_from_args(parser.parse_args(shlex.split(words)))


def shortfall(run: Any) -> dict[str, Any]:
    found = plan(run).shortfall
    assert found is not None
    return found


def test_a_run_that_fits_lacks_nothing() -> None:
    assert plan(job()).shortfall is None


def test_what_is_short_is_the_peak_beyond_the_capacity() -> None:
    made = plan(fine_tune())
    assert made.shortfall is not None
    assert made.shortfall["what"] == "memory"
    short = made.memory.peak_bytes - made.memory.capacity_bytes
    assert made.shortfall["bytes"] == pytest.approx(short)


def test_every_change_that_is_named_fits_when_it_is_made() -> None:
    run = fine_tune()
    found = shortfall(run)
    for row in [found["nearest"], *found["alternatives"]]:
        changed = plan(run.changed(row["changes"]))
        assert changed.fits, row["change"]
        assert changed.memory.peak_bytes == pytest.approx(row["peak_bytes"])


def test_a_change_of_settings_comes_before_other_hardware() -> None:
    run = job(hardware__count=8, training__recompute="none", training__micro_batch=8)
    assert shortfall(run)["nearest"]["kind"] == "settings"


def test_full_fine_tuning_on_one_device_names_adapters_as_another_task() -> None:
    kinds = {row["kind"]: row for row in shortfall(fine_tune())["alternatives"]}
    assert kinds["task"]["changes"]["training.task"] in ("lora", "qlora")
    assert kinds["devices"]["changes"]["hardware.count"] > 1


def test_offload_that_the_host_cannot_hold_is_a_shortfall() -> None:
    run = fine_tune(
        training__offload="optimizer",
        training__recompute="full",
        hardware__host_memory="16GB",
        data__seq_len=256,
    )
    found = shortfall(run)
    assert found["what"] == "host_memory"
    assert plan(run).verdict == "does-not"


def test_more_host_memory_mends_it() -> None:
    run = fine_tune(
        training__offload="optimizer",
        training__recompute="full",
        hardware__host_memory="1TB",
        data__seq_len=256,
    )
    assert plan(run).fits


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(MODELS),
    st.sampled_from(SKUS),
    st.sampled_from(("full-ft", "lora", "pretrain")),
    st.sampled_from(LAYOUTS),
    st.sampled_from((1, 2, 8)),
)
def test_the_flags_of_every_change_pasted_behind_the_command_give_a_plan_that_fits(
    model: str, sku: str, task: str, layout: str, count: int
) -> None:
    layout = layout if count > 1 else "auto"
    command = f"--model {model} --sku {sku} --count {count} --task {task} --layout {layout}"
    command += " --samples 10k --seq-len 2048 --micro-batch 4 --global-batch 64"
    try:
        short = plan(read(command)).shortfall
    except PlannerError:  # such as two ranks where the stack splits nothing over them
        reject()
    for row in [short["nearest"], *short["alternatives"]] if short else []:
        if row:
            pasted = plan(read(f"{command} {row['flags']}"))
            assert pasted.fits, f"{command} {row['flags']}"
            assert pasted.memory.peak_bytes == pytest.approx(row["peak_bytes"])


def test_the_flags_write_a_layout_whole_since_the_flag_replaces_it() -> None:
    run = job("llama-3-70b", hardware__count=8, training__layout="tp=2,sharding=none")
    rows = [shortfall(run)["nearest"], *shortfall(run)["alternatives"]]
    flags = [row["flags"] for row in rows if row and "training.layout.sharding" in row["changes"]]
    assert flags
    assert all("--layout tp=2,sharding=zero" in each for each in flags)
