"""Traced rows of a module on a measured device."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from planner.profile_device.module_step import module_parts
from planner.profile_device.relative import Dims
from tests.profile_device.devices import BANDWIDTH, true_seconds
from tests.profile_device.test_operation import SLOW, TIMES


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    name: str
    kind: str
    direction: str = "forward"
    flops: tuple[float, float] = (0.0, 0.0)
    bytes: tuple[float, float] = (0.0, 0.0)
    dims: tuple[tuple[float, float], ...] | None = None
    keys: int = 0
    channels_last: bool = False
    width: int = 4
    count: int = 1


def fixed(m: float, n: float, k: float) -> tuple[tuple[float, float], ...]:
    return (m, 0.0), (n, 0.0), (k, 0.0), (1.0, 0.0)


LINEAR = Row(name="addmm", kind="product", dims=((0.0, 64.0), (160.0, 0.0), (64.0, 0.0), (1.0, 0)))
RELU = Row(name="relu", kind="pointwise", bytes=(0.0, 1e7), width=0)


def test_rows_grow_with_the_samples_and_count_as_often_as_they_occur() -> None:
    found = module_parts([replace(LINEAR, count=3), RELU], 8, TIMES, "fp32")
    assert found.parts["matmul"] == pytest.approx(3 * true_seconds(512, 160, 64))
    assert found.parts["elementwise"] == pytest.approx(8e7 / BANDWIDTH, rel=0.01)
    assert found.measured == found.parts["matmul"]


@pytest.mark.parametrize("way", ["input", "weight"])
def test_a_convolutions_gradients_take_what_their_products_take(way: str) -> None:
    m, n, k = 1600.0, 96.0, 432.0
    own: Dims = (m, k, n, 1.0) if way == "input" else (n, k, m, 1.0)
    row = Row(
        name=f"convolution_backward {way}",
        kind="convolution",
        direction="backward",
        dims=fixed(*own[:3]),
    )
    seconds = module_parts([row], 1, TIMES, "fp32").parts["matmul"]
    assert seconds == pytest.approx(SLOW * true_seconds(*own[:3]), rel=0.35)


def test_wide_rows_of_a_mixed_step_run_in_fp32() -> None:
    narrow = replace(LINEAR, width=2)
    wide, half = (module_parts([row], 8, TIMES, "bf16").parts["matmul"] for row in (LINEAR, narrow))
    assert wide == pytest.approx(true_seconds(512, 160, 64))
    assert half == pytest.approx(true_seconds(512, 160, 64, 2))
