"""Scores of measured runs as plain tables: pooled, by source, by kind of run, by question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from planner.fidelity.case import Case
from planner.fidelity.groups import BY, QUESTIONS
from planner.fidelity.scores import Row, Score, mean_of_sources, score, score_by

Measured = tuple[Case, Row]

NOTHING: dict[str, Any] = {
    "n": 0,
    "median_ape": None,
    "p90_ape": None,
    "bias": None,
    "coverage80": None,
}


def summary(pairs: Sequence[Measured], refused: Sequence[str] = ()) -> dict[str, Any]:
    """Every table of `pairs`; `refused` holds the source of each row that could not be planned.

    A refused row counts as an error of 100 % in the pooled figures and in its source's.
    """
    rows = [row for _, row in pairs]
    by_source = score_by(rows, lambda row: row.source, refused)
    pooled = asdict(score(rows, len(refused))) if rows or refused else NOTHING
    return {
        **pooled,
        "mean_of_source_medians": mean_of_sources(by_source),
        "refused": len(refused),
        "by_source": _plain(by_source),
        **{f"by_{name}": _plain(scores_by(pairs, label)) for name, label in BY.items()},
        "questions": {
            name: asdict(score(chosen))
            for name, asks in QUESTIONS.items()
            if (chosen := [row for case, row in pairs if asks(case)])
        },
    }


def scores_by(pairs: Sequence[Measured], label: Callable[[Case], str]) -> dict[str, Score]:
    """Scores by what `label` says of the case, most rows first."""
    names = {id(row): label(case) for case, row in pairs}
    return score_by([row for _, row in pairs], lambda row: names[id(row)])


def _plain(scores: dict[str, Score]) -> dict[str, Any]:
    return {name: asdict(each) for name, each in scores.items()}
