"""Cited assumptions about a run's overheads and power, each with its range."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "data" / "assumptions.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """A value with its range, unit and source."""

    value: float
    low: float
    high: float
    unit: str
    source: str


@cache
def assumptions() -> dict[str, Assumption]:
    """Every assumption by name."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: Assumption(**row) for name, row in table.items()}


def assumed(name: str) -> float:
    """The value of one assumption.

    >>> assumed("restart_seconds")
    900.0
    """
    return float(assumptions()[name].value)
