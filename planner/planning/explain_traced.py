"""The operations of a traced module with their numbers put in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.engine.constants import constants
from planner.engine.formats import ATTENTION
from planner.engine.rates import rates
from planner.engine.traced import seconds_of
from planner.planning.outline import Outline
from planner.profile_device.operation import OperationTimes
from planner.quantities import show_bytes, show_count, show_duration, show_flops, show_percent

SHOWN = 12  # operations


def row_lines(bones: Outline) -> Iterator[str]:
    """The operations that take longest of one micro-batch, and what the rest takes."""
    table, made, c = bones.scenario.model.table, bones.configuration, constants()
    assert table is not None
    work = table.work(made.precision, "full" if made.recompute == "full" else "none")
    sustained = rates(bones.batch, c)
    timed = [(_first(seconds_of(row, bones.batch, sustained, c)), row) for row in work.rows]
    timed.sort(key=lambda each: -each[0])
    total = sum(seconds for seconds, _ in timed)
    for seconds, row in timed[:SHOWN]:
        flops = (row.flops[0] + row.flops[1] * made.micro_batch) * row.count
        moved = (row.bytes[0] + row.bytes[1] * made.micro_batch) * row.count
        many = f"{row.count} x " if row.count > 1 else ""
        work_done = f"{show_flops(flops)} and " if flops else ""
        yield (
            f"{many}{row.name} {row.direction} {row.shapes}: {work_done}{show_bytes(moved)} moved: "
            f"{show_duration(seconds)} ({show_percent(seconds / total)})"
        )
    rest = timed[SHOWN:]
    yield (
        f"{show_count(sum(row.count for _, row in rest))} other operations: "
        f"{show_duration(sum(seconds for seconds, _ in rest))}"
    )
    yield (
        f"traced by torch {table.torch}; b is the micro-batch of {made.micro_batch}; a convolution "
        "is the product that it stands for"
    )


def kernel_lines(bones: Outline) -> Iterator[str]:
    """Which kernels of a profile stand for the module's operations."""
    from planner.profile_device.module_step import kernel_seconds

    table, made, measured = bones.scenario.model.table, bones.configuration, bones.measured
    assert table is not None
    assert measured is not None
    work = table.work(made.precision)
    figures = measured.device.figures
    shares = kernel_seconds(
        work.rows, float(made.micro_batch), OperationTimes(figures), ATTENTION[made.precision]
    )
    for kernel, (number, seconds) in sorted(shares.items(), key=lambda each: -each[1][1]):
        yield f"{number:,} operations by the profile's {kernel}: {show_duration(seconds)}"


def _first(value: object) -> float:
    return float(np.ravel(np.asarray(value))[0])
