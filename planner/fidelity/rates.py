"""Rows that state only TFLOP/s or MFU, reported apart from those with a time.

A published rate becomes the step time that it implies by the standard count of model FLOPs.
Conventions differ (causal or full attention, recomputation counted or not), so these errors hold
the difference of conventions too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from planner.engine.constants import Constants, constants
from planner.fidelity.batches import case_batch
from planner.fidelity.case import Case
from planner.fidelity.fit import TimeRows, predict
from planner.fidelity.scores import Row, score, score_by
from planner.fidelity.summary import NOTHING
from planner.fidelity.utilisation import stated_seconds

Array = np.ndarray[Any, np.dtype[Any]]

_NAMES = ("n", "median_ape", "p90_ape", "bias")  # a rate has no interval of ours


def rate_summary(
    cases: Sequence[Case], found: Mapping[str, Constants], refused: Sequence[str] = ()
) -> dict[str, Any]:
    """Errors of the cases' implied step times, pooled and by source.

    `found` holds constants by source, fitted without it; a source that is not in it had no row in
    the fit, so that the shipped constants have not seen it either.
    """
    rows = _rows(cases, found)
    if not rows and not refused:
        return {**{name: NOTHING[name] for name in _NAMES}, "refused": 0, "by_source": {}}
    by_source = score_by(rows, lambda row: row.source, refused)
    return {
        **_short(asdict(score(rows, len(refused)))),
        "refused": len(refused),
        "by_source": {name: _short(asdict(each)) for name, each in by_source.items()},
    }


def _rows(cases: Sequence[Case], found: Mapping[str, Constants]) -> list[Row]:
    stated = [(case, stated_seconds(case)) for case in cases]
    known = [(case, seconds) for case, seconds in stated if seconds is not None]
    if not known:
        return []
    predicted = _predicted([case for case, _ in known], found)
    return [
        Row(
            id=case.id,
            source=case.group,
            kind="rate",
            actual=seconds,
            predicted=float(ours),
            low=float(ours),
            high=float(ours),
            inferred=case.inferred,
        )
        for (case, seconds), ours in zip(known, predicted, strict=True)
    ]


def _predicted(cases: list[Case], found: Mapping[str, Constants]) -> Array:
    rows = untimed_rows(cases)
    times = np.empty(len(cases))
    for name in sorted(set(rows.groups.tolist())):
        index = np.flatnonzero(rows.groups == name)
        times[index] = predict(rows, found.get(name, constants()), index)
    return times


def untimed_rows(cases: Sequence[Case]) -> TimeRows:
    """Cases without a measured time in the form that predictions take."""
    return TimeRows(
        cases=tuple(cases),
        batch=case_batch(cases),
        actual=np.full(len(cases), np.nan),
        groups=np.array([case.group for case in cases]),
    )


def _short(scores: dict[str, Any]) -> dict[str, Any]:
    return {name: scores[name] for name in _NAMES}
