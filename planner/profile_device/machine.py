"""A profile as overrides of the engine's machine: measured rates in place of published ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from planner.engine.constants import constants
from planner.engine.formats import ATTENTION, MATMUL
from planner.errors import PlannerError
from planner.profile_device.figures import Figures, read_figures
from planner.profile_device.reader import FIELD

if TYPE_CHECKING:
    from planner.engine.configuration import Configuration


def machine_from_profile(path: str | Path, configuration: Configuration) -> dict[str, float]:
    """Fields of `planner.engine.machine.Machine` that the profile at `path` measured.

    Rates are the best that the device reached, so the measured fraction of the peak is 1; memory
    bandwidth is stated so that the engine's sustained share of it gives the measured copy.
    Raises PlannerError, field `hardware.profile`, for a file that is none, a profile of another
    accelerator than the configuration names, or one without the configuration's formats.
    """
    figures = read_figures(path)
    refuse_other_device(figures, configuration.sku)
    return overrides(figures, configuration.precision)


def refuse_other_device(figures: Figures, sku: str) -> None:
    """Never another device's numbers: a profile of a known accelerator answers for that one."""
    measured = figures.recorded.sku_id
    if measured is not None and measured != sku:
        remedy = f"it is a profile of {measured}, the run names {sku}"
        raise PlannerError(FIELD, figures.recorded.device_name, remedy)


def overrides(figures: Figures, precision: str) -> dict[str, float]:
    """The measured fields for one precision of training, FLOP/s, bytes/s and bytes."""
    matmul = figures.product(MATMUL[precision]).peak
    attention = figures.product(ATTENTION[precision]).peak
    found = {
        "matmul_peak": matmul,
        "matmul_achievable": 1.0,
        "attention_peak": attention,
        "attention_achievable": 1.0,
    }
    if figures.bandwidth is not None:
        found["bandwidth"] = figures.bandwidth / constants().bandwidth
    if figures.recorded.memory_bytes is not None:
        found["capacity"] = figures.recorded.memory_bytes
    transfer = figures.traffic("h2d", "fp32", memory="pinned")
    if transfer is not None:
        found["host_link"] = transfer.sustained
    return found
