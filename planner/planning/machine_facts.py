"""What the answer needs to know about the machine: completed from the run, or refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planner.engine.formats import ATTENTION, MATMUL
from planner.errors import PlannerError
from planner.quantities import show_bytes
from planner.run.missing import MissingKeyError

if TYPE_CHECKING:
    from hardware_db import Accelerator
    from planner.profile_device.device import ProfiledDevice
    from planner.run import Run

POWER_RATIOS = 0.1, 1.5  # of a stated limit against the board's own, outside which it is a slip


def completed(run: Run, part: Accelerator, per_node: int, stated: dict[str, str]) -> Accelerator:
    """`part` with the memory that only the run can say. Raises PlannerError for what is missing.

    A processor's memory depends on its machine: `hardware.host_memory` divided by the
    accelerators of a node.
    """
    check_formats(run, part)
    _check_links(run, part, per_node)
    _check_power(run, part)
    if part.usable_bytes is not None:
        return part
    memory = run.hardware.host_memory
    if memory is None:
        remedy = f"the memory of {part.sku_id} depends on the machine: say bytes per node"
        raise MissingKeyError("hardware.host_memory", remedy)
    share = memory / per_node
    stated["memory"] = f"{show_bytes(share)} of the node's memory for each {part.sku_id}"
    return replace(part, usable_bytes=share)


def shared(
    part: Accelerator, per_node: int, stated: dict[str, str], device: ProfiledDevice | None
) -> Accelerator:
    """`part` with its share of the memory: a profile's processor has that of its whole machine."""
    if device is None or device.figures.recorded.kind != "cpu" or per_node == 1:
        return part
    if part.usable_bytes is None:
        return part
    share = part.usable_bytes / per_node
    stated["memory"] = f"{show_bytes(share)} of the machine's memory for each of {per_node} ranks"
    return replace(part, usable_bytes=share)


def check_formats(run: Run, part: Accelerator) -> None:
    """Refuse a precision that the part cannot compute in, or whose rate nobody stated."""
    precision = run.training.precision
    for number_format in sorted({MATMUL[precision], ATTENTION[precision]}):
        support = part.supports(number_format)
        if support == "unsupported":
            raise PlannerError("training.precision", precision, _unsupported(part, number_format))
        if part.peak("fp32" if support == "emulated" else number_format) is None:
            remedy = f"the {number_format} rate of {part.sku_id} is not known: use {_usable(part)}"
            raise PlannerError("training.precision", precision, remedy)


def _unsupported(part: Accelerator, number_format: str) -> str:
    needs = ""
    if part.vendor == "nvidia" and number_format == "fp8":
        needs = " (FP8 needs compute capability 8.9)"
    if part.vendor == "nvidia" and number_format == "tf32":
        needs = " (TF32 needs compute capability 8.0)"
    return f"{part.sku_id} has no {number_format} units{needs}: use {_usable(part)}"


def _usable(part: Accelerator) -> str:
    """16-bit and wider formats that the part computes in, best first."""
    known = [
        word
        for word in ("bf16", "fp16", "fp32")
        if part.supports(word) == "native" and part.peak(word) is not None
    ]
    return " or ".join(known) or "another accelerator"


def _check_links(run: Run, part: Accelerator, per_node: int) -> None:
    count = run.hardware.count or 1
    if per_node > 1 and part.link is None and part.pcie_bytes_per_second is None:
        remedy = f"the link between accelerators of {part.sku_id} is not known: plan with count 1"
        raise PlannerError("hardware.count", count, remedy)
    if run.training.offload != "none" and part.host_bytes_per_second is None:
        remedy = f"the link of {part.sku_id} to its host is not known: use none"
        raise PlannerError("training.offload", run.training.offload, remedy)


def _check_power(run: Run, part: Accelerator) -> None:
    limit, board = run.hardware.power_limit, part.tdp_watts
    lowest, highest = POWER_RATIOS
    if limit and board and not lowest <= limit / board <= highest:
        remedy = f"not believable: the board of {part.sku_id} takes {board:g} W; leave it out"
        raise PlannerError("hardware.power_limit", limit, remedy)
