"""The question of the Choose hardware page, its work in the background, and what it answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from planner.run import Run
from planner.search.usual_aim import REASONS
from ui.jobs import Job, Jobs
from ui.model_source import Source

MOST_KEPT, AT_ONCE = 16, 2  # answers remembered, comparisons that work at the same time
HALVINGS, DOUBLINGS = 3, 2  # numbers of devices tried around the scenario's own
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is compared. `by` None is the planner's usual."""

    run: Run
    source: Source
    counts: tuple[int, ...]
    skus: tuple[str, ...] = ()  # empty: all
    owned: bool = False
    min_memory: float | None = None  # bytes
    by: str | None = None
    weights: tuple[tuple[str, float], ...] = ()  # of a value

    @property
    def key(self) -> str:
        """The name of its job: the same question is worked out once."""
        said = [self.run.to_mapping(), self.source.config, self.source.dimensions, self.source.kind]
        rest = [self.counts, self.skus, self.owned, self.min_memory, self.by, self.weights]
        text = json.dumps([*said, *rest], default=str)
        return f"compare {hashlib.sha256(text.encode()).hexdigest()}"


def counts_near(count: int | None) -> tuple[int, ...]:
    """Numbers of devices to try where nobody says: the scenario's own, halved and doubled.

    >>> counts_near(64), counts_near(6), counts_near(None)
    ((8, 16, 32, 64, 128, 256), (3, 6, 12, 24), (1, 2, 4, 8, 16, 32))
    """
    own = count or 8
    halves = [own >> n for n in range(1, HALVINGS + 1) if own % (1 << n) == 0]
    return tuple(sorted({*halves, *(own << n for n in range(DOUBLINGS + 1))}))


@st.cache_resource
def jobs() -> Jobs:
    """The comparisons of this server."""
    return Jobs(most=MOST_KEPT, at_once=AT_ONCE)


def job_of(question: Question) -> Job:
    """The work on a question, started now if it never was."""
    return jobs().get(question.key, lambda progress: answered(question, progress))


def answered(question: Question, progress: Callable[[int, int], None]) -> Row:
    """What `forerun compare --json` prints. Raises PlannerError."""
    from planner.cli.output import plain
    from planner.search.compare import Filters, compare

    filters = Filters(skus=question.skus, owned=question.owned, min_memory=question.min_memory)
    answer: Row = plain(
        compare(
            question.run,
            filters=filters,
            counts=question.counts,
            by=question.by,
            weights=dict(question.weights) or None,
            model=question.source.load(),
            progress=progress,
        )
    )
    return answer


def reason_key(answer: Row) -> str | None:
    """Why it is ranked as it is, as a key of the words; None where it was asked for."""
    return next((key for key, text in REASONS.items() if text == answer["by_reason"]), None)


def fitting(answer: Row) -> list[Row]:
    """The accelerators of a ranking on which something fits, best first."""
    return [row for row in answer["ranking"] if row["fits"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One accelerator and number of it at its best, as the figure draws it."""

    row: Row  # settings, seconds, usd, kwh
    kept: bool  # keeps the limits
    front: bool  # not beaten in time and cost by any that keeps them
    best: bool  # first of the ranking

    @property
    def key(self) -> str:
        return key_of(self.row)


def key_of(row: Row) -> str:
    """What tells a configuration of an answer from the others."""
    return f"{row['count']}|{row['sku']}|{row['price_mode']}"


def dots(answer: Row) -> list[Dot]:
    """Every accelerator and number that fits and has a price, fastest first."""
    known = [row for row in _numbers(answer) if row["usd"] is not None]
    ordered = sorted(known, key=lambda row: (row["seconds"], row["usd"]))
    first = next((key_of(row) for row in fitting(answer)[:1]), None)
    front = _front([row for row in ordered if row["within_limits"]])
    return [
        Dot(
            row=row,
            kept=row["within_limits"],
            front=key_of(row) in front,
            best=key_of(row) == first,
        )
        for row in ordered
    ]


def _numbers(answer: Row) -> Iterator[Row]:
    for row in fitting(answer):
        yield from (each for each in row["counts"] if each["fits"])


def _front(ordered: Sequence[Row]) -> set[str]:
    """Keys of rows, fastest first, that no faster one undercuts."""
    found, least = set(), float("inf")
    for row in ordered:
        if row["usd"] < least:
            least = row["usd"]
            found.add(key_of(row))
    return found


def offered(answer: Row) -> dict[str, Row]:
    """Configurations that can be opened in Plan: the best of each accelerator, then the rest of
    the front, by key."""
    found = {key_of(row): row for row in fitting(answer)}
    return found | {dot.key: dot.row for dot in dots(answer) if dot.key not in found}


def unpriced(answer: Row) -> int:
    """Accelerators that fit and have no known price: the figure cannot place them."""
    return sum(row["cost"]["usd"] is None for row in fitting(answer))
