"""The operations of a traced module on a measured device, summed into the parts of a step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from planner.engine.constants import constants
from planner.engine.formats import ATTENTION
from planner.engine.traced import NOT_COMPILED, fused_share, host_seconds
from planner.profile_device.figures import ELEMENT_BYTES, Figures
from planner.profile_device.host import exposed_seconds, host_constants
from planner.profile_device.operation import Operation, OperationTimes
from planner.profile_device.page_mapping import mapped_seconds
from planner.profile_device.relative import Dims
from planner.profile_device.step import ProfiledStep, update_of

if TYPE_CHECKING:
    from planner.engine.batch import Batch

Affine = tuple[float, float]  # (a, b): a + b·samples

_CONVOLUTION = "convolution"
_PARTS = {
    "product": "matmul",
    "convolution": "matmul",
    "attention": "attention",
    "norm": "elementwise",
    "pointwise": "elementwise",
}


class Row(Protocol):
    """Equal operations of one micro-batch, as tracing writes them."""

    @property
    def name(self) -> str: ...  # of the torch operation; a convolution's passes end in their name
    @property
    def kind(self) -> str: ...  # product | convolution | attention | norm | pointwise
    @property
    def direction(self) -> str: ...  # forward | backward
    @property
    def flops(self) -> Affine: ...  # of one
    @property
    def bytes(self) -> Affine: ...  # of one
    @property
    def dims(self) -> tuple[Affine, ...] | None: ...  # m, n, k, groups of this very product
    @property
    def keys(self) -> int: ...  # attention: that a query sees on average
    @property
    def channels_last(self) -> bool: ...  # convolution: how its images lie in memory
    @property
    def width(self) -> int: ...  # bytes per element of what is multiplied, 0 where nothing is
    @property
    def count(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleParts:
    """Seconds of one micro-batch by part, and what they rest on."""

    parts: dict[str, float]
    measured: float  # s, by shapes that were measured themselves
    lacking: dict[str, str]  # part -> an operation that nothing in the profile stands for


def profiled_module(
    batch: Batch, figures: Figures, *, precision: str, optimizer: str = "adamw"
) -> ProfiledStep:
    """The step of a batch of one traced module on the one device of `figures`.

    Recomputation is left to the caller. A compiler leaves the share of the memory-bound operations
    between products that published runs show. Raises PlannerError where products are missing.
    """
    table, times = batch.table, OperationTimes(figures)
    assert table is not None
    samples, steps = (
        float(np.max(each)) for each in (batch.parallel.micro_batch, batch.parallel.accumulation)
    )
    compiled = bool(np.max(batch.parallel.compile != NOT_COMPILED))
    found = module_parts(
        table.work(precision).rows,
        samples,
        times,
        ATTENTION[precision],
        pointwise=fused_share(constants()) if compiled else 1.0,
    )
    parts, lacking = dict(found.parts), dict(found.lacking)
    own = host_constants(figures)
    if own is None:
        lacking["launch"] = "a launch"
    else:
        host = float(np.max(host_seconds(table, batch, own)))
        parts["launch"] = exposed_seconds(figures, sum(parts.values()), host)
    parts = {name: seconds * steps for name, seconds in parts.items()}
    update = update_of(batch, figures, optimizer, ELEMENT_BYTES["fp32"])
    if update is None:
        lacking["optimizer"] = f"the {optimizer} optimizer"
    else:
        parts["optimizer"] = update
    parts["page_mapping"] = mapped_seconds(batch, figures)
    return ProfiledStep(parts=parts, measured=found.measured * steps, lacking=lacking)


def module_parts(
    rows: Iterable[Row],
    samples: float,
    times: OperationTimes,
    number_format: str,
    *,
    pointwise: float = 1.0,
) -> ModuleParts:
    """Time every row for `samples` samples; 16-bit rows in `number_format`, wider ones in FP32.

    `pointwise` is the share of the memory-bound operations between products that is left.

    A part with an operation that the profile has nothing for is left out and named. Raises
    PlannerError, field `hardware.profile`, where products of a format are missing.
    """
    parts = dict.fromkeys(_PARTS.values(), 0.0)
    known, lacking = dict.fromkeys(parts, 0.0), {}
    for row in rows:
        part = _PARTS[row.kind]
        wide = row.width == 4 and number_format != "tf32" and "fp32" in times.figures.products
        found = times.answer(_operation(row, samples, "fp32" if wide else number_format))
        if found is None:
            lacking[part] = row.name
            continue
        share = pointwise if row.kind == "pointwise" else 1.0
        parts[part] += found.seconds * row.count * share
        known[part] += found.seconds * row.count * found.measured
    return ModuleParts(
        parts={part: seconds for part, seconds in parts.items() if part not in lacking},
        measured=sum(seconds for part, seconds in known.items() if part not in lacking),
        lacking=lacking,
    )


def kernel_seconds(
    rows: Iterable[Row], samples: float, times: OperationTimes, number_format: str
) -> dict[str, tuple[int, float]]:
    """Operations and seconds of one micro-batch by the profile's kernel that stands for them."""
    found: dict[str, tuple[int, float]] = {}
    for row in rows:
        answer = times.answer(_operation(row, samples, number_format))
        if answer is not None:
            number, seconds = found.get(answer.kernel, (0, 0.0))
            found[answer.kernel] = number + row.count, seconds + answer.seconds * row.count
    return found


def _operation(row: Row, samples: float, number_format: str) -> Operation:
    way, convolves = _way(row), row.kind == _CONVOLUTION
    return Operation(
        kind=row.kind,
        name=row.name,
        format=number_format,
        flops=_at(row.flops, samples),
        bytes=_at(row.bytes, samples),
        backward=row.direction == "backward",
        dims=None if row.dims is None else _dims(row.dims, samples, way if convolves else ""),
        way=way,
        channels_last=row.channels_last,
        keys=row.keys,
    )


def _way(row: Row) -> str:
    """Which pass of a layer a product is: the weight's gradient sums over the batch."""
    if row.direction == "forward" or row.dims is None:
        return "forward"
    if row.kind == _CONVOLUTION:
        return row.name.rpartition(" ")[2]
    return "weight" if row.dims[2][1] else "input"


def _dims(dims: tuple[Affine, ...], samples: float, way: str) -> Dims:
    """Of the forward product: an input gradient is (m, k, n), a weight's (n, k, m)."""
    a, b, c, groups = (_at(each, samples) for each in dims)
    m, n, k = {"input": (a, c, b), "weight": (c, a, b)}.get(way, (a, b, c))
    return m, n, k, groups


def _at(line: Affine, samples: float) -> float:
    return line[0] + line[1] * samples
