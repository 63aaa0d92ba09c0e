"""Reading our CSV files: one reader, one way to say unknown (an empty cell is None)."""

from __future__ import annotations

import csv
import os
from functools import cache

DATA = os.path.join(os.path.dirname(__file__), "data")  # os: pathlib costs 3 ms of every start

GIGA = 1e9
TERA = 1e12
MEGA = 1e6
GIB = 2.0**30
MIB = 2.0**20
BITS_PER_BYTE = 8

Row = dict[str, str]


@cache
def rows(name: str) -> tuple[Row, ...]:
    """The rows of `data/<name>.csv`, in file order, cells as text."""
    with open(os.path.join(DATA, f"{name}.csv"), encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def number(cell: str, scale: float = 1.0) -> float | None:
    """A cell as a float in base units, None where the cell is empty.

    >>> number("3350", GIGA), number("")
    (3350000000000.0, None)
    """
    return float(cell) * scale if cell else None


def integer(cell: str) -> int | None:
    """A cell as an int, None where the cell is empty."""
    return int(cell) if cell else None


def flag(cell: str) -> bool | None:
    """`yes` and `no` as a bool, None where the cell is empty."""
    return {"yes": True, "no": False, "": None}[cell]


def words(cell: str) -> tuple[str, ...]:
    """The `;`-separated words of a cell.

    >>> words("fp64;tdp_watts"), words("")
    (('fp64', 'tdp_watts'), ())
    """
    return tuple(cell.split(";")) if cell else ()
