"""The accelerator of a row, and the machine and network that usually surround it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import hardware_db
from planner.errors import PlannerError
from planner.fidelity.table import Row

_ETHERNET = 100e9 / 8  # bytes/s of a node where no network of the part is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """A machine's size and its network."""

    devices_per_node: int
    bytes_per_second: float  # one way, per device, between nodes
    known: bool = True  # some machine with this part is in the tables


def sku_of(row: Row) -> str:
    """The accelerator's id, from the row's own id or else from its label.

    Raises PlannerError for a name that is unknown or means several parts.
    """
    name = row.text("sku_id") or row.text("gpu")
    if not name:
        raise PlannerError("sku_id", None, "the row names no accelerator")
    return _resolve(name)


@cache
def _resolve(name: str) -> str:
    try:
        return hardware_db.resolve(name).sku_id
    except hardware_db.HardwareError as error:
        raise PlannerError("sku_id", name, error.remedy) from None


@cache
def usual_fabric(sku: str) -> Fabric:
    """The usual machine around that accelerator.

    >>> usual_fabric("h100-sxm5-80gb").bytes_per_second
    50000000000.0
    """
    network = hardware_db.network_for(sku)
    if network is None or network.device_bytes_per_second is None:
        return Fabric(devices_per_node=8, bytes_per_second=_ETHERNET / 8, known=False)
    return Fabric(
        devices_per_node=network.devices_per_node or 8,
        bytes_per_second=network.device_bytes_per_second,
    )
