"""What memory adds to a step on a measured device: caches, pages that are mapped, large tensors."""

from __future__ import annotations

from typing import Any

import pytest

import hardware_db
from planner.profile_device.caches import cold_seconds_per_byte
from planner.profile_device.figures import Figures, figures_from
from planner.profile_device.host import Tensors, update_seconds
from planner.profile_device.operation import Operation, OperationTimes
from planner.profile_device.page_mapping import mapped_seconds
from planner.profile_device.reader import recorded_of
from planner.profile_device.step import profiled_step
from planner.profile_device.transfer import transferred
from tests.profile_device.devices import gemm_row, profile, row, true_seconds
from tests.profile_device.test_figures import batch

PER_BYTE = 2e-10  # s that a byte outside the caches adds
MAPPING = 4e-10  # s that a byte of new memory takes
ALLOCATE = row("allocate", {"bytes": 2**27}, 2**27 * MAPPING, bytes=float(2**27))


def made_up(*more: dict[str, Any], **device: Any) -> Figures:
    base = profile()
    changes = {"results": [*base["results"], *more], "device": {**base["device"], **device}}
    return figures_from(recorded_of({**base, **changes}, "made up"))


def cold_row(side: int) -> dict[str, Any]:
    steady = gemm_row(side, side, side)
    return steady | {"mode": "cold", "median_s": steady["median_s"] + PER_BYTE * steady["bytes"]}


def test_cold_products_say_what_a_byte_outside_the_caches_costs() -> None:
    rows = made_up(cold_row(64), cold_row(160), cold_row(512)).recorded.results
    assert cold_seconds_per_byte(rows, "fp32") == pytest.approx(PER_BYTE)
    assert cold_seconds_per_byte(rows, "bf16") == 0.0


def test_cold_products_do_not_bend_the_curve_of_steady_ones() -> None:
    curve = made_up(cold_row(160), cold_row(512)).products["fp32"]
    assert float(curve.seconds(160, 160, 160)) == pytest.approx(true_seconds(160, 160, 160))


def test_a_step_reads_each_weight_from_memory() -> None:
    plain = profiled_step(batch(), made_up(cache_bytes=2**25), precision="fp32")
    found = profiled_step(batch(), made_up(cold_row(160), cache_bytes=2**25), precision="fp32")
    layers = 12 * 12 * 768**2  # weights of the matrices of GPT-2
    added = found.parts["matmul"] - plain.parts["matmul"]
    assert added == pytest.approx(3 * 4 * layers * PER_BYTE, rel=1e-6)


def test_products_beyond_the_caches_have_their_traffic_in_their_steady_time() -> None:
    small = made_up(cold_row(160), cache_bytes=2**20)
    plain = profiled_step(batch(), made_up(), precision="fp32")
    found = profiled_step(batch(), small, precision="fp32")
    assert found.parts["matmul"] == plain.parts["matmul"]


@pytest.mark.parametrize(
    ("kind", "way", "weights"),
    [
        ("product", "forward", 32 * 48),
        ("product", "input", 32 * 48),
        ("product", "weight", 64 * 32),
        ("convolution", "forward", 32 * 48),  # no convolution was measured: as its product
        ("convolution", "weight", 32 * 48),
    ],
)
def test_an_operation_of_a_module_reads_its_weight_from_memory(
    kind: str, way: str, weights: int
) -> None:
    asked = Operation(
        kind=kind,
        name=kind,
        format="fp32",
        flops=2.0 * 64 * 32 * 48,
        bytes=1.0,
        dims=(64, 32, 48, 1),
        way=way,
        backward=way != "forward",
    )
    plain = OperationTimes(made_up(cache_bytes=2**25)).answer(asked)
    found = OperationTimes(made_up(cold_row(160), cache_bytes=2**25)).answer(asked)
    assert plain is not None
    assert found is not None
    assert found.seconds - plain.seconds == pytest.approx(4 * weights * PER_BYTE)


def test_a_batched_product_has_no_weight() -> None:
    asked = Operation(
        kind="product", name="bmm", format="fp32", flops=1.0, bytes=1.0, dims=(64, 32, 48, 8)
    )
    cached, cold = made_up(cache_bytes=2**25), made_up(cold_row(160), cache_bytes=2**25)
    assert OperationTimes(cold).answer(asked) == OperationTimes(cached).answer(asked)


def test_a_carried_over_profile_has_the_cache_of_its_target() -> None:
    source, target = (hardware_db.accelerator(sku) for sku in ("a100-sxm4-80gb", "h100-sxm5-80gb"))
    found, _ = transferred(made_up(cache_bytes=1, kind="cuda"), source, target)
    assert found.recorded.cache_bytes == target.l2_bytes


def test_memory_beyond_what_the_heap_keeps_is_mapped_in_every_step() -> None:
    figures = made_up(ALLOCATE)
    one, two = (mapped_seconds(batch(micro_batch=size), figures) for size in (2, 4))
    logits, kept = 4 * 2 * 512 * 50257 * MAPPING, 2 * 2**25 * MAPPING
    assert one > logits - kept
    assert one < two < 2 * one + 2 * kept
    again = mapped_seconds(batch(micro_batch=2, accumulation=2), figures)
    gradients = 4 * 124.5e6 * MAPPING  # they stay from micro-step to micro-step
    assert 2 * one < again < 2 * one + gradients
    assert profiled_step(batch(), figures, precision="fp32").parts["page_mapping"] == one


@pytest.mark.parametrize(
    "figures", [made_up(), made_up(ALLOCATE, kind="cuda")], ids=["not timed", "its own allocator"]
)
def test_no_memory_is_mapped_anew(figures: Figures) -> None:
    assert mapped_seconds(batch(), figures) == 0.0


def test_a_loop_of_updates_goes_at_the_pace_of_its_tensors() -> None:
    sizes = [(8, 2**18, 1e-9), (4, 2**22, 4e-9)]  # tensors, elements, s an element
    rows = [
        row(
            "adamw",
            {"tensors": number, "elements": elements, "variant": "loop"},
            number * elements * each,
            bytes=28.0 * number * elements,
        )
        for number, elements, each in sizes
    ]
    kept = [each for each in profile()["results"] if each["kernel"] != "adamw"]
    figures = figures_from(recorded_of(profile(results=[*kept, *rows]), "made up"))
    wanted = 3 * 2**22 * 4e-9 + 100 * 2**18 * 1e-9
    found = update_seconds(figures, "adamw", [Tensors(3, 2**22), Tensors(100, 2**18)], 4)
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("size", [None, -1, 0, "32 MiB", True, 2**60])
def test_a_cache_that_cannot_be_one_counts_as_unknown(size: object) -> None:
    found = made_up(cold_row(160), cache_bytes=size)
    assert found.recorded.cache_bytes is None
    assert float(found.cold("fp32", 1e6, 1e6)) == 0.0
