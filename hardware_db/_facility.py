"""Figures of data centres and servers: PUE, electricity, server power, colocation, amortisation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hardware_db._choice import known_word
from hardware_db._tables import rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A row of facility.csv: one number with its unit, where and when it holds."""

    kind: str  # pue, electricity-price-industrial, server-to-chip-power-ratio, node-price, ...
    key: str  # a provider, a country, a machine
    scope: str
    value: float
    unit: str
    year: str  # empty where the source does not say
    confidence: str
    source: str
    note: str

    @property
    def from_memory(self) -> bool:
        """Whether the figure rests on nobody's document."""
        return self.confidence == "memory"


def figures(kind: str | None = None, key: str | None = None) -> tuple[Figure, ...]:
    """The figures of a kind and key, newest first within a key; all of them without a filter."""
    wanted = None if kind is None else known_word("kind", kind, (each.kind for each in _all()))
    place = None if key is None else key.strip().lower()
    found = (each for each in _all() if wanted in (None, each.kind))
    return tuple(each for each in found if place in (None, each.key.lower()))


def pue(key: str) -> Figure | None:
    """Power usage effectiveness of a provider or a region, None where none is published.

    >>> pue("aws").value, pue("industry average").value
    (1.15, 1.58)
    """
    return next(iter(figures("pue", key)), None)


@cache
def _all() -> tuple[Figure, ...]:
    found = [
        Figure(
            kind=row["kind"],
            key=row["key"],
            scope=row["scope"],
            value=float(row["value"]),
            unit=row["unit"],
            year=row["year"],
            confidence=row["confidence"],
            source=row["source"],
            note=row["note"],
        )
        for row in rows("facility")
    ]
    return tuple(sorted(found, key=lambda each: each.year, reverse=True))
