"""The smallest change that fits, when a run does not."""

from __future__ import annotations

from typing import Any

import pytest

from planner.planning.plan import plan
from tests.planning.jobs import fine_tune, job


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
