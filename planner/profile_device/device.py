"""The device of a profile, or the accelerator that a run names with that profile's efficiency."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from planner.engine.constants import constants
from planner.errors import PlannerError
from planner.profile_device.figures import Figures, read_figures
from planner.profile_device.machine import listed, measured_accelerator
from planner.profile_device.quality import left_out_of
from planner.profile_device.reader import FIELD
from planner.profile_device.transfer import Transfer, transferred

if TYPE_CHECKING:
    from hardware_db import Accelerator


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledDevice:
    """What is planned with: the figures, and the accelerator that they make."""

    figures: Figures
    accelerator: Accelerator
    listed: bool  # whether the table of accelerators has it: its price, links and network
    transfer: Transfer | None  # None: the profile is of this very accelerator
    _errors: dict[str, dict[str, float] | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def network_bytes_per_second(self) -> float | None:
        """One way per accelerator, stated so that the engine's sustained share of it gives the
        collectives that were measured between nodes; None where none were."""
        measured = self.figures.network
        if measured is None:
            return None
        rings = measured.ranks_per_node * constants().network
        return measured.bytes_per_second() / rings

    def left_out(self, number_format: str) -> dict[str, float] | None:
        """Error of products left out of the fit in turn, `quality.left_out_of`; found once."""
        if number_format not in self._errors:
            self._errors[number_format] = left_out_of(self.figures, number_format)
        return self._errors[number_format]


def profiled_device(path: str | Path, named: Accelerator | None) -> ProfiledDevice:
    """The device of the profile at `path`; `named` is the accelerator that the run names, if any.

    Raises PlannerError, field `hardware.profile`, for a file that is no profile, for one with too
    few products, and for one that cannot be carried over to `named`.
    """
    try:
        stat = Path(path).expanduser().stat()
        version = stat.st_mtime_ns, stat.st_size
    except (OSError, RuntimeError):
        version = 0, 0  # reading says what is wrong
    return _device(str(path), version, named)


@lru_cache(maxsize=16)
def _device(path: str, version: tuple[int, int], named: Accelerator | None) -> ProfiledDevice:
    """`version` tells one content of the file from another."""
    figures = read_figures(path)
    own = listed(figures.recorded.sku_id)
    if named is None or (own is not None and own.sku_id == named.sku_id):
        part = measured_accelerator(figures, own)
        if part.memory_bandwidth is None:
            remedy = "it timed no copy inside the device's memory: measure again, with --resume"
            raise PlannerError(FIELD, figures.recorded.device_name, remedy)
        return ProfiledDevice(
            figures=figures, accelerator=part, listed=own is not None, transfer=None
        )
    if own is None:
        remedy = (
            f"its device is in no table, so nothing scales it to {named.sku_id}: leave "
            "hardware.sku out to plan on the device itself"
        )
        raise PlannerError(FIELD, figures.recorded.device_name, remedy)
    scaled, transfer = transferred(figures, own, named)
    part = measured_accelerator(scaled, named)
    return ProfiledDevice(figures=scaled, accelerator=part, listed=True, transfer=transfer)
