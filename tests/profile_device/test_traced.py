"""Traced modules on a measured device."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.engine.table import Row
from planner.planning.plan import Planned, planned
from planner.profile_device.module_step import _operation as operation
from planner.run import Run

PROFILE = Path(__file__).parents[2] / "profiles" / "measured" / "amd-epyc.json"


def made(precision: str = "fp32", **changes: object) -> Planned:
    run = Run(
        model="resnet-50",
        data={"samples": 10_000},
        hardware={"profile": str(PROFILE)},
        training={"precision": precision, "micro_batch": 16, "accumulation": 1},
    )
    return planned(run.changed(changes))


def row_of(name: str) -> Row:
    table = made().scenario.model.table
    assert table is not None
    return next(row for row in table.work("fp32").rows if row.name == name)


def test_a_convolution_is_asked_for_by_its_forward_product() -> None:
    forward = operation(row_of("convolution"), 2.0, "fp32")
    assert forward.dims == (2 * 112 * 112, 64, 3 * 7 * 7, 1)
    backward = operation(row_of("convolution_backward weight"), 2.0, "fp32")
    assert backward.dims is not None
    assert backward.way == "weight"
    assert backward.dims[0] % (2 * 7 * 7) == 0  # positions of the batch, as forward


def test_gradients_of_a_matrix_are_told_apart() -> None:
    table = made().scenario.model.table
    assert table is not None
    backward = [row for row in table.work("fp32").rows if row.name == "mm"]
    assert sorted(operation(row, 4.0, "fp32").way for row in backward) == ["input", "weight"]


def test_the_step_rests_on_the_profile_and_adds_up() -> None:
    bones = made().outline
    assert bones.measured is not None
    assert not bones.measured.lacking
    assert bones.measured.curves > 0.9 * bones.measured.total
    assert sum(bones.step.parts.values()) == pytest.approx(bones.step.seconds)
    assert made().plan.evidence.grade == "measured"


def test_sixteen_bits_are_timed_by_the_profiles_own() -> None:
    assert made("bf16").plan.step.seconds < 0.7 * made("fp32").plan.step.seconds


def test_twice_the_samples_take_about_twice_as_long() -> None:
    small, large = (made(**{"training.micro_batch": size}).plan.step.seconds for size in (16, 32))
    assert large / small == pytest.approx(2, rel=0.1)
