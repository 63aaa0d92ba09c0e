"""Figures that no machine reaches, and the rule of thumb."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.fidelity.utilisation import (
    impossible,
    rule_seconds,
    sift,
    stated_seconds,
    suspicious,
    utilisation,
)
from tests.fidelity.synthetic import case


def test_the_rule_of_thumb_is_six_n_d_at_forty_percent_of_the_peak() -> None:
    configuration = case().configuration
    flops = 6 * configuration.model.params_active * 8 * 16 * 1024
    assert rule_seconds(configuration) == pytest.approx(flops / (0.4 * 8 * 312e12))


def test_a_time_faster_than_the_peak_is_impossible() -> None:
    fast = replace(case(), actual_seconds=1e-3)
    assert utilisation(fast.configuration, 1e-3) > 1  # type: ignore[operator]
    assert "impossible" in (impossible(fast) or "")
    kept, gone = sift([fast, replace(case("two"), actual_seconds=0.2)])
    assert [each.id for each in kept] == ["two"]
    assert [(each.id, each.kind) for each in gone] == [("one", "time")]


def test_frozen_weights_may_look_faster_than_the_peak_by_the_usual_count() -> None:
    configuration = case().configuration
    at_peak = utilisation(configuration, 1.0)
    assert at_peak is not None
    seconds = at_peak / 1.2  # 120 % by the usual count
    frozen = case(task="lora", lora_rank=8, trainable_params=10**6)
    assert impossible(replace(case(), actual_seconds=seconds)) is not None
    assert impossible(replace(frozen, actual_seconds=seconds)) is None


def test_a_time_in_milliseconds_looks_suspicious_and_is_kept() -> None:
    late = replace(case(), actual_seconds=400.0)
    assert impossible(late) is None
    assert "seconds" in (suspicious(late) or "")
    assert suspicious(replace(case(), actual_seconds=0.4)) is None


def test_a_peak_above_the_memory_is_impossible_unless_the_run_failed() -> None:
    peak = replace(case(), actual_peak_bytes=200 * 2.0**30)
    assert "80 GiB" in (impossible(peak) or "")
    assert impossible(replace(peak, oom=True)) is None
    assert impossible(replace(case(), actual_peak_bytes=79 * 2.0**30)) is None


def test_a_published_rate_implies_a_time() -> None:
    seconds = stated_seconds(replace(case(), mfu=0.5))
    assert seconds is not None
    assert utilisation(case().configuration, seconds) == pytest.approx(0.5)
    assert stated_seconds(case()) is None
