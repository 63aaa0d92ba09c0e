"""Predicted against measured speed ratios between accelerators."""

from __future__ import annotations

from dataclasses import replace

import pytest

import hardware_db
from planner.engine.constants import constants
from planner.fidelity.accelerators import Pair, benchmark_rows, pairs_of, ratio_score
from planner.fidelity.case import Case
from planner.fidelity.fit import predict, time_rows
from planner.fidelity.leave_one_out import left_out_accelerators
from planner.fidelity.validate import Measurements
from tests.fidelity.synthetic import case


def pair(actual: float, predicted: float) -> Pair:
    return Pair(
        source="lab",
        model="gpt2-124m",
        precision="bf16",
        num_devices=8,
        left_out="h100-sxm5-80gb",
        reference="a100-sxm4-80gb",
        actual=actual,
        predicted=predicted,
    )


def test_errors_and_order_of_known_ratios() -> None:
    pairs = [pair(2.0, 1.8), pair(0.5, 0.6), pair(1.5, 0.9), pair(1.1, 0.9)]
    found = ratio_score(pairs)
    assert found is not None
    assert found.median_ape == pytest.approx((0.2 + 0.2 / 1.1) / 2)
    assert (found.pairs, found.clear) == (4, 3)  # 1.1 is no clear difference
    assert found.right == pytest.approx(2 / 3)


def measured(name: str, seconds: float, **changes: object) -> Case:
    return replace(case(name, **changes), actual_seconds=seconds)


def test_a_pair_compares_the_fastest_run_of_each_in_tokens_per_second() -> None:
    rows = time_rows(
        [
            measured("slow", 1.0, sku="a100-sxm4-80gb", micro_batch=8),
            measured("fast", 1.0, sku="a100-sxm4-80gb", micro_batch=16),
            measured("new", 0.5, sku="h100-sxm5-80gb", micro_batch=16),
        ]
    )
    found = pairs_of(rows, {})
    assert {(each.left_out, each.actual) for each in found} == {
        ("h100-sxm5-80gb", 2.0),
        ("a100-sxm4-80gb", 0.5),
    }


def test_each_pair_is_predicted_by_the_constants_without_its_accelerator() -> None:
    rows = time_rows(
        [measured("old", 1.0, sku="a100-sxm4-80gb"), measured("new", 0.5, sku="h100-sxm5-80gb")]
    )
    slower = replace(constants(), flash=constants().flash / 10)  # attention of the A100 only
    found = pairs_of(rows, {"h100-sxm5-80gb": slower})
    old, new = predict(rows, slower)
    by_sku = {each.left_out: each.predicted for each in found}
    assert by_sku["h100-sxm5-80gb"] == pytest.approx(old / new)
    assert by_sku["a100-sxm4-80gb"] > 1 / by_sku["h100-sxm5-80gb"] * 1.05


def test_different_work_is_no_pair() -> None:
    rows = time_rows(
        [
            measured("old", 1.0, sku="a100-sxm4-80gb"),
            measured("new", 0.5, sku="h100-sxm5-80gb", seq_len=2048),
        ]
    )
    assert pairs_of(rows, {}) == []


def test_the_benchmark_table_names_known_parts_and_sources() -> None:
    rows = benchmark_rows()
    assert len(rows.cases) > 100
    assert all(hardware_db.accelerator(each.configuration.sku) for each in rows.cases)
    assert {each.source for each in rows.cases} == {
        "NVIDIA/DeepLearningExamples",
        "lambdal/deeplearning-benchmark",
    }


def test_published_speed_ratios_are_predicted_for_accelerators_left_out(
    measurements: Measurements,
) -> None:
    rows = time_rows(measurements.evidence.timed)
    found = left_out_accelerators(rows)
    for pairs in (pairs_of(rows, found), pairs_of(benchmark_rows(), found)):
        scored = ratio_score(pairs)
        assert scored is not None
        assert scored.pairs > 500
        assert scored.median_ape < 0.18
        assert scored.right is not None
        assert scored.right > 0.9
