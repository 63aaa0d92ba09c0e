"""Predicted against measured peaks of published runs, and whether each run was seen to fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.constants import constants
from planner.fidelity import memory
from planner.fidelity.case import Case
from planner.fidelity.memory import MemoryPrediction
from planner.fidelity.scores import Row
from planner.fidelity.spreads import left_out_sigmas, sigmas
from planner.planning.intervals import Spread, table
from planner.planning.memory_doubts import memory_doubts
from planner.planning.plan import verdict_of
from planner.stacks import stack

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Whether a run with a known end was foreseen to fit."""

    id: str
    source: str
    ran: bool
    fits: bool  # best estimate
    verdict: str  # fits | uncertain | does-not


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """Rows of the measured peaks, and the outcome of each run whose end is known."""

    rows: tuple[Row, ...]  # one per case with a peak, in their order
    outcomes: tuple[Outcome, ...]


def left_out_peaks(cases: Sequence[Case]) -> Peaks:
    """Constants and widths from the other sources; what each doubt adds at least is shipped."""
    known = _known(cases)
    if not known:
        return Peaks(rows=(), outcomes=())
    found = memory.left_out(known, constants())
    actual = np.array([case.actual_peak_bytes or np.nan for case in known])
    groups = np.array([case.group for case in known])
    assumed = {name: value for name, value in table("memory").items() if name != "base"}
    logs = np.log(found.seen / actual)
    return _peaks(known, found, left_out_sigmas(logs, _doubts(known), groups, assumed))


def shipped_peaks(cases: Sequence[Case]) -> Peaks:
    """The shipped constants and widths."""
    known = _known(cases)
    if not known:
        return Peaks(rows=(), outcomes=())
    found = memory.predict(known, constants())
    return _peaks(known, found, sigmas(_doubts(known), table("memory")))


def _doubts(cases: Sequence[Case]) -> list[tuple[str, ...]]:
    configurations = [case.configuration for case in cases]
    return [memory_doubts(each, stack(each.stack)) for each in configurations]


def _known(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case.actual_peak_bytes is not None or case.oom]


def _peaks(cases: list[Case], found: MemoryPrediction, widths: Array) -> Peaks:
    spreads = [Spread(sigma=float(width)) for width in widths]
    return Peaks(
        rows=tuple(
            _row(case, case.actual_peak_bytes, float(seen), spread)
            for case, seen, spread in zip(cases, found.seen, spreads, strict=True)
            if case.actual_peak_bytes is not None
        ),
        outcomes=tuple(
            _outcome(case, float(needed), float(capacity), spread)
            for case, needed, capacity, spread in zip(
                cases, found.needed, found.capacity, spreads, strict=True
            )
        ),
    )


def _row(case: Case, actual: float, seen: float, spread: Spread) -> Row:
    low, high = spread.bounds(seen)
    return Row(
        id=case.id,
        source=case.group,
        kind="memory",
        actual=actual,
        predicted=seen,
        low=low,
        high=high,
        inferred=case.inferred,
    )


def _outcome(case: Case, needed: float, capacity: float, spread: Spread) -> Outcome:
    return Outcome(
        id=case.id,
        source=case.group,
        ran=not case.oom,
        fits=needed <= capacity,
        verdict=verdict_of(spread.below(needed, capacity)),
    )
