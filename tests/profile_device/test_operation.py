"""Operations of traced modules by the figures of a profile."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.profile_device.figures import figures_from
from planner.profile_device.operation import Operation, OperationTimes, Timed
from planner.profile_device.reader import recorded_of
from planner.profile_device.relative import grouped_seconds
from tests.profile_device.devices import BANDWIDTH, profile, row, true_seconds

SLOW = 1.5  # a convolution of the made-up device against its product


def conv_row(side: int, channels: int, kernel: int, *, backward: bool = False) -> dict[str, Any]:
    m, n, k = 4 * side**2, 2 * channels, channels * kernel**2
    seconds = SLOW * true_seconds(m, n, k)
    if backward:
        seconds += SLOW * (true_seconds(m, k, n) + true_seconds(n, k, m))
    shape = {"batch": 4, "channels": channels, "side": side, "out_channels": 2 * channels}
    return row(
        "conv_backward" if backward else "conv",
        shape | {"kernel": kernel, "layout": "nchw"},
        seconds,
        flops=2.0 * m * n * k,
        bytes=1.0,
    )


def bmm_row(batch: int, side: int) -> dict[str, Any]:
    shape = {"batch": batch, "m": side, "n": side, "k": side}
    return row("bmm", shape, batch * true_seconds(side, side, side), flops=1.0, bytes=1.0)


CONVOLUTIONS = [
    conv_row(side, channels, 3, backward=backward)
    for side, channels in ((28, 16), (14, 64), (7, 128))
    for backward in (False, True)
]
ROWS = [*profile()["results"], *CONVOLUTIONS, bmm_row(8, 64)]
TIMES = OperationTimes(figures_from(recorded_of(profile(results=ROWS), "made up")))


def timed(kind: str, **changes: Any) -> Timed:
    base: dict[str, Any] = {"name": kind, "format": "fp32", "flops": 0.0, "bytes": 0.0}
    found = TIMES.answer(Operation(kind=kind, **(base | changes)))
    assert found is not None
    return found


def product(m: float, n: float, k: float, groups: float = 1.0, **changes: Any) -> Timed:
    flops = 2 * m * n * k * groups
    return timed("product", dims=(m, n, k, groups), flops=flops, **changes)


def test_a_measured_product_answers_itself() -> None:
    found = product(512, 160, 64)
    assert found.measured
    assert found.seconds == pytest.approx(true_seconds(512, 160, 64))


def test_another_product_goes_through_the_curve() -> None:
    found = product(700, 300, 500)
    assert not found.measured
    assert found.seconds == pytest.approx(true_seconds(700, 300, 500), rel=0.12)


def test_a_measured_batched_product_answers_itself() -> None:
    assert product(64, 64, 64, 8.0).seconds == pytest.approx(8 * true_seconds(64, 64, 64))


def test_a_batched_product_starts_once() -> None:
    curve = TIMES.figures.product("fp32")
    one, many = (grouped_seconds(curve, (64, 64, 64, g), ("forward",)) for g in (1.0, 100.0))
    assert 20 * one < many < 100 * one


def test_a_measured_convolution_answers_itself() -> None:
    dims = (4 * 14**2, 128, 64 * 9, 1.0)
    found = timed("convolution", dims=dims, flops=1.0)
    assert found.measured
    assert found.seconds == pytest.approx(SLOW * true_seconds(*dims[:3]))


@pytest.mark.parametrize("backward", [False, True])
def test_other_convolutions_are_as_much_slower_than_their_product(backward: bool) -> None:
    m, n, k = 4 * 20.0**2, 96.0, 48.0 * 9
    found = timed("convolution", dims=(m, n, k, 1.0), backward=backward)
    truth = true_seconds(m, k, n) + true_seconds(n, k, m) if backward else true_seconds(m, n, k)
    assert found.seconds == pytest.approx(SLOW * truth, rel=0.2)
    assert found.kernel == ("conv_backward" if backward else "conv")


def test_the_passes_of_a_convolution_add_up() -> None:
    asked: dict[str, Any] = {"dims": (1600.0, 96.0, 432.0, 1.0), "backward": True}
    both = timed("convolution", **asked).seconds
    alone = [timed("convolution", **asked, way=way).seconds for way in ("input", "weight")]
    assert sum(alone) == pytest.approx(both)


def test_a_layout_that_was_not_measured_follows_the_plain_product() -> None:
    assert timed("convolution", dims=(784, 128, 576, 1.0), channels_last=True).kernel == "gemm"


@pytest.mark.parametrize(
    ("name", "backward", "kernel"),
    [
        ("native_layer_norm_backward", True, "layer_norm_backward"),
        ("native_batch_norm_backward", True, "layer_norm_backward"),
        ("gelu_backward", True, "gelu_backward"),
        ("mul", False, "add"),
        ("_to_copy", False, "copy"),
    ],
)
def test_the_kernel_that_reads_alike_stands_for_an_operation(
    name: str, backward: bool, kernel: str
) -> None:
    found = timed("pointwise", name=name, bytes=1e8, backward=backward)
    assert found.kernel == kernel
    assert found.seconds == pytest.approx(1e8 / BANDWIDTH, rel=0.01)


def test_attention_goes_by_its_keys() -> None:
    found = timed("attention", flops=1e9, keys=256, causal=True, backward=True)
    assert found.seconds == pytest.approx(1e9 / 5e10)


def test_no_operation_is_shorter_than_the_smallest() -> None:
    assert timed("pointwise", bytes=8.0).seconds == pytest.approx(2e-6)


def test_a_format_without_products_is_refused_by_name() -> None:
    with pytest.raises(PlannerError, match="not in fp16"):
        product(64, 64, 64, format="fp16")


def test_a_device_without_attention_says_nothing_of_it() -> None:
    rows = [each for each in ROWS if not each["kernel"].startswith("sdpa")]
    times = OperationTimes(figures_from(recorded_of(profile(results=rows), "made up")))
    asked = Operation(kind="attention", name="sdpa", format="fp32", flops=1e9, bytes=0, keys=64)
    assert times.answer(asked) is None


@given(st.integers(1, 10_000), st.integers(1, 10_000), st.integers(1, 5000))
def test_no_convolution_is_faster_than_anything_measured(m: int, n: int, k: int) -> None:
    found = timed("convolution", dims=(float(m), float(n), float(k), 1.0), flops=2.0 * m * n * k)
    fastest = max(each.flops / each.seconds for each in TIMES.figures.recorded.results)
    assert 2.0 * m * n * k / found.seconds <= fastest * (1 + 1e-9)
