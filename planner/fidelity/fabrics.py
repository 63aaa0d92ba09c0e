"""The network that machines with an accelerator usually have, where a row does not tell it."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "data" / "fabrics.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """A machine's size and its network."""

    devices_per_node: int
    bytes_per_second: float  # one way, per device


@cache
def _rows() -> dict[str, Fabric]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        return {
            row["sku_id"]: Fabric(
                devices_per_node=int(row["devices_per_node"]),
                bytes_per_second=float(row["gbit_per_device"]) * 1e9 / 8,
            )
            for row in csv.DictReader(file)
        }


def usual_fabric(sku: str) -> Fabric:
    """The usual machine around that accelerator.

    >>> usual_fabric("h100-sxm5-80gb").bytes_per_second
    50000000000.0
    """
    return _rows().get(sku) or _rows()[""]
