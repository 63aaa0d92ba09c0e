"""Where predictions are far off, and why, as far as anybody knows."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from pathlib import Path

import numpy as np

from planner.fidelity.case import Case
from planner.fidelity.summary import Measured

FILE = Path(__file__).parent / "data" / "weak_spots.toml"
FAR = 0.35  # |log(predicted / measured)| from which a row counts as a miss
FEWEST = 2  # misses of one kind that make a weak spot


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a group of rows is off. A row belongs to it when all of its texts match."""

    kind: str  # time | memory
    source: str  # the row's source begins with it
    models: tuple[str, ...]  # one of them occurs in the model's name
    sku: str  # the accelerator's id begins with it
    cause: str
    settles: str  # what would settle it

    def fits(self, case: Case, kind: str) -> bool:
        """Whether a measurement of that kind belongs here."""
        each = case.configuration
        return (
            kind == self.kind
            and case.group.startswith(self.source)
            and any(part in each.model.name for part in self.models)
            and each.sku.startswith(self.sku)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakSpot:
    """Rows of one source and cause that are predicted far from the measurement."""

    kind: str  # time | memory
    source: str
    models: tuple[str, ...]
    skus: tuple[str, ...]
    misses: int  # rows that are off by FAR or more
    ratio: float  # median of predicted / measured of the misses
    cause: Cause | None  # None = not established


@cache
def causes() -> tuple[Cause, ...]:
    """Every known cause; the first that fits a row is its."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["spot"]
    return tuple(Cause(**{**row, "models": tuple(row["models"])}) for row in rows)


def weak_spots(pairs: Sequence[Measured]) -> list[WeakSpot]:
    """Where several rows of a kind are far off, most misses first.

    Misses of one cause stand together; without a known cause those of one model and accelerator.
    """
    found: dict[tuple[object, ...], list[Measured]] = {}
    for case, row in pairs:
        if abs(log(row.predicted / row.actual)) > FAR:
            found.setdefault(_key(case, row.kind), []).append((case, row))
    spots = [_spot(misses) for misses in found.values() if len(misses) >= FEWEST]
    return sorted(spots, key=lambda each: (-each.misses, each.kind, each.source, each.models))


def _key(case: Case, kind: str) -> tuple[object, ...]:
    cause = _cause(case, kind)
    each = case.configuration
    alone = (each.model.name, each.sku) if cause is None else ()
    return kind, case.group, cause, *alone


def _cause(case: Case, kind: str) -> Cause | None:
    return next((cause for cause in causes() if cause.fits(case, kind)), None)


def _spot(misses: list[Measured]) -> WeakSpot:
    case, row = misses[0]
    configurations = [each.configuration for each, _ in misses]
    return WeakSpot(
        kind=row.kind,
        source=case.group,
        models=tuple(sorted({each.model.name for each in configurations})),
        skus=tuple(sorted({each.sku for each in configurations})),
        misses=len(misses),
        ratio=float(np.median([each.predicted / each.actual for _, each in misses])),
        cause=_cause(case, row.kind),
    )
