"""From a profile to what the engine needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hardware_db
from planner.engine.batch import Batch, batch_of
from planner.engine.configuration import Configuration
from planner.errors import PlannerError
from planner.models import load_model
from planner.profile_device.figures import Figures, figures_from, read_figures
from planner.profile_device.machine import measured_accelerator
from planner.profile_device.products import ProductCurve, fit_products
from planner.profile_device.quality import left_out
from planner.profile_device.reader import recorded_of
from planner.profile_device.step import profiled_step
from planner.stacks import stack
from tests.profile_device.devices import BANDWIDTH, profile, true_seconds

SIDES = st.integers(1, 20_000)


def made_up(**changes: Any) -> Figures:
    return figures_from(recorded_of(profile(**changes), "made up"))


FIGURES = made_up()
CURVE: ProductCurve = FIGURES.products["fp32"]


def test_a_measured_shape_answers_itself() -> None:
    assert float(CURVE.seconds(512.0, 160.0, 64.0)) == pytest.approx(true_seconds(512, 160, 64))
    assert bool(CURVE.measured(512.0, 160.0, 64.0))
    assert not bool(CURVE.measured(512.0, 161.0, 64.0))


@given(SIDES, SIDES, SIDES)
def test_no_product_is_faster_than_the_roofline(m: int, n: int, k: int) -> None:
    seconds = float(CURVE.seconds(m, n, k))
    assert 2.0 * m * n * k / seconds <= CURVE.peak * (1 + 1e-9)
    assert 4.0 * (m * k + k * n + m * n) / seconds <= CURVE.bandwidth * (1 + 1e-9)


@given(st.integers(64, 1024), st.integers(64, 1024), st.integers(64, 1024))
def test_shapes_between_the_measured_ones_are_close_to_the_truth(m: int, n: int, k: int) -> None:
    assert float(CURVE.seconds(m, n, k)) == pytest.approx(true_seconds(m, n, k), rel=0.12)


def test_products_left_out_of_the_fit_are_predicted() -> None:
    found = left_out(FIGURES)["fp32"]
    assert found["median"] < 0.05
    assert found["p90"] < 0.1
    assert found["n"] == 64


def test_a_batch_of_shapes_equals_the_same_shapes_one_by_one() -> None:
    m, n, k = np.array([100.0, 512.0]), np.array([[70.0], [900.0]]), np.array([333.0])
    together = CURVE.seconds(m, n, k)
    assert together.shape == (2, 2)
    assert float(together[1, 0]) == pytest.approx(float(CURVE.seconds(100.0, 900.0, 333.0)))


def test_too_few_products_make_no_curve() -> None:
    few = [each for each in profile()["results"] if each["kernel"] == "gemm"][:4]
    assert made_up(results=few).products == {}


def test_doubtful_measurements_weigh_less() -> None:
    rows = profile()["results"]
    for each in rows[:20:2]:
        each["median_s"] *= 3
        each["flags"] = ["unreliable"]
    noisy = made_up(results=rows).products["fp32"]
    assert float(noisy.seconds(700.0, 700.0, 700.0)) == pytest.approx(
        true_seconds(700, 700, 700), rel=0.15
    )


def test_the_fit_does_not_depend_on_the_order_of_the_shapes() -> None:
    turned = made_up(results=profile()["results"][::-1]).products["fp32"]
    assert float(turned.seconds(300, 300, 300)) == pytest.approx(
        float(CURVE.seconds(300, 300, 300)), rel=1e-3
    )
    again = fit_products(CURVE.shapes, CURVE.element_bytes)
    assert np.array_equal(again.parameters, CURVE.parameters)


def test_traffic_is_interpolated_by_size_and_held_beyond() -> None:
    copy = FIGURES.traffic("copy", "fp32")
    assert copy is not None
    assert float(copy.seconds(1e8)) == pytest.approx(1e-6 + 1e8 / BANDWIDTH)
    assert float(copy.seconds(1e10)) == pytest.approx(1e10 / BANDWIDTH, rel=0.01)
    assert FIGURES.traffic("copy", "fp8") is None


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"schema": "forerun-profile/9"}', "[" * 50_000, "null"]
)
def test_what_is_no_profile_is_refused_by_the_key_of_the_run(tmp_path: Path, content: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(content)
    with pytest.raises(PlannerError) as caught:
        read_figures(path)
    assert caught.value.field == "hardware.profile"


@pytest.mark.parametrize(
    "damage",
    [
        {"median_s": -1},
        {"median_s": "fast"},
        {"shape": 3},
        {"flops": float("inf")},
        {"bytes": None},
    ],
)
def test_a_damaged_result_is_refused_not_skipped(damage: dict[str, Any]) -> None:
    found = profile()
    found["results"][0] |= damage
    with pytest.raises(PlannerError, match=r"results\[0\]"):
        recorded_of(found, "p.json")


def test_a_profile_without_products_says_so(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(profile(results=[])))
    with pytest.raises(PlannerError, match="no products"):
        read_figures(path)


def configuration(precision: str = "fp32", **changes: Any) -> Configuration:
    base: dict[str, Any] = {
        "model": load_model("gpt2-124m"),
        "sku": "epyc-9654",
        "num_devices": 1,
        "devices_per_node": 1,
        "network_bytes_per_second": float("inf"),
        "seq_len": 512,
        "micro_batch": 2,
        "accumulation": 1,
        "precision": precision,
        "stack": "hf-trainer",
    }
    return Configuration(**(base | changes))


def batch(precision: str = "fp32", **changes: Any) -> Batch:
    return batch_of([configuration(precision, **changes)], hardware_db.accelerator, stack)


def test_an_unlisted_device_computes_in_what_was_measured() -> None:
    part = measured_accelerator(FIGURES, None)
    assert part.peak("fp32") == pytest.approx(CURVE.peak)
    assert part.achievable_fraction("fp32") == 1.0
    assert part.supports("fp8") == "unsupported"
    assert part.usable_bytes == 2**34


def test_a_listed_accelerator_takes_the_measured_rates_against_its_published_peak() -> None:
    published = hardware_db.accelerator("a100-sxm4-80gb")
    part = measured_accelerator(FIGURES, published)
    peak, fraction = part.peak("bf16"), part.achievable_fraction("bf16")
    assert peak == published.peak("bf16")
    assert fraction is not None
    assert peak * fraction == pytest.approx(FIGURES.products["bf16"].peak)


def test_a_step_is_the_sum_of_its_parts_and_grows_with_the_batch() -> None:
    one = profiled_step(batch(), FIGURES, precision="fp32")
    two = profiled_step(batch(micro_batch=4), FIGURES, precision="fp32")
    assert one.total == pytest.approx(sum(one.parts.values()))
    assert all(seconds >= 0 for seconds in one.parts.values())
    assert one.total < two.total < 2.2 * one.total
    assert two.parts["optimizer"] == one.parts["optimizer"]


def test_accumulation_repeats_all_but_the_optimizer() -> None:
    one = profiled_step(batch(), FIGURES, precision="fp32")
    four = profiled_step(batch(accumulation=4), FIGURES, precision="fp32")
    assert four.parts["matmul"] == pytest.approx(4 * one.parts["matmul"])
    assert four.parts["optimizer"] == one.parts["optimizer"]


def test_sixteen_bits_over_fp32_weights_pay_for_their_casts() -> None:
    assert profiled_step(batch(), FIGURES, precision="fp32").parts["casts"] == 0
    mixed = profiled_step(batch("bf16", stack="hf-trainer"), FIGURES, precision="bf16")
    wide = bool(np.max(batch("bf16").software.wide))
    assert (mixed.parts["casts"] > 0) == wide


def test_one_of_several_devices_does_what_it_does_alone() -> None:
    alone = profiled_step(batch(), FIGURES, precision="fp32")
    one_of_two = profiled_step(batch(num_devices=2, dp=2), FIGURES, precision="fp32")
    assert one_of_two.parts["matmul"] == alone.parts["matmul"]
    assert one_of_two.parts["optimizer"] == alone.parts["optimizer"]


def test_the_update_of_sharded_weights_is_that_of_the_shard() -> None:
    whole = profiled_step(batch(num_devices=4, dp=4), FIGURES, precision="fp32")
    shard = profiled_step(batch(num_devices=4, dp=4, sharding="zero3"), FIGURES, precision="fp32")
    assert shard.parts["optimizer"] == pytest.approx(whole.parts["optimizer"] / 4, rel=0.02)


def test_a_kernel_that_was_cut_off_by_the_limit_is_named() -> None:
    rows = [each for each in profile()["results"] if each["kernel"] != "gelu_backward"]
    found = profiled_step(batch(), made_up(results=rows), precision="fp32")
    assert found.lacking == {"elementwise": "gelu_backward in fp32"}
    assert "elementwise" not in found.parts


def test_a_format_that_was_not_measured_is_refused() -> None:
    with pytest.raises(PlannerError, match="not in fp16"):
        profiled_step(batch("fp16"), FIGURES, precision="fp16")
