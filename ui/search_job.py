"""The work behind the Search page: every candidate, then trials, in the background."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from planner.errors import PlannerError
from planner.run import Run
from ui.jump import changes_of_run
from ui.model_source import Source
from ui.search_tables import flat
from ui.search_words import Wanted

if TYPE_CHECKING:
    from planner.search.answer import Answer
    from planner.search.points import Point
    from planner.search.space import Space

PAUSE = 0.3  # s between two lookings at the best so far
Report = Callable[..., None]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is searched."""

    run: Run
    source: Source
    wanted: Wanted

    @property
    def name(self) -> str:
        """The same for the same question, in any session."""
        wanted, source = self.wanted, self.source
        said = [
            self.run.to_mapping(),
            [source.kind, source.config, source.dimensions],
            wanted.flags,
            None if wanted.trials is None else repr(wanted.trials),
        ]
        return hashlib.sha256(json.dumps(said, default=str).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What is known while the work goes on."""

    phase: str  # listing | candidates | answering | trials
    best: Row | None = None
    history: tuple[Row, ...] = ()  # of the trials


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The answer of `forerun search --json`, and what a page needs beside it."""

    answer: dict[str, Any]
    points: tuple[Row, ...]  # the best of every machine, price and precision, best first
    stated: dict[str, Any] | None  # settings of the run as stated, as `chosen` has them
    runs: tuple[tuple[Row, Run], ...] = field(repr=False)  # of every row that is shown

    @property
    def complete(self) -> bool:
        study = self.answer["study"]
        return bool(self.answer["complete"] and (study is None or study["complete"]))

    @property
    def resumable(self) -> bool:
        """Whether trials are left of a study that is kept."""
        study = self.answer["study"]
        return study is not None and not study["complete"] and study["storage"] is not None

    def run_of(self, row: Row) -> Run:
        """The run of a row that is shown, with nothing left open."""
        return next(run for known, run in self.runs if known.items() <= row.items())

    def changes_of(self, row: Row, said: Run) -> dict[str, object]:
        """What to change of the run `said` to have a row that is shown."""
        return changes_of_run(said, self.run_of(row))


def worker(question: Question) -> Callable[[Report], Found]:
    """The work of a job."""
    return lambda report: _searched(question, report)


def _searched(question: Question, report: Report) -> Found:
    from planner.search.exhaustive import searched
    from planner.search.space import space

    report(0, 0, News(phase="listing"))
    found = space(question.run, question.wanted.limits, model=question.source.load())
    watch = _Watch(report, found, found.size, "candidates")
    exact = searched(found, question.wanted.aim, progress=watch.advance, watch=watch.best)
    watch.answering()
    answer = exact.to_json()
    return _found(exact, answer | {"study": _learned(question, exact, report)})


class _Watch:
    """Counts what is finished and reports it with the best so far, now and then."""

    def __init__(self, report: Report, space: Space, total: int, phase: str) -> None:
        self._report, self._space, self._total = report, space, total
        self._done, self._shown = 0, -math.inf  # a study may go on from many trials: look at once
        self._news = News(phase=phase)
        report(0, total, self._news)

    def advance(self, more: int) -> None:
        self._done += more
        self._report(min(self._done, self._total), self._total, self._news)

    def answering(self) -> None:
        """Say that all is seen. What was cancelled is answered too, as far as it came."""
        with contextlib.suppress(KeyboardInterrupt):
            self._report(self._done, self._total, replace(self._news, phase="answering"))

    def best(self, tell: Callable[[], Point | None]) -> None:
        """Take the best so far of the exact search."""
        if not self._due():
            return
        from planner.search.rows import short_row

        point = tell()
        row = None if point is None else short_row(self._space, point)
        self._news = replace(self._news, best=row)

    def study(self, study: Any) -> None:
        """Take the trials so far."""
        if not self._due():
            return
        from planner.search.learned import history

        rows = tuple(history(study))
        self._done = len(rows) - 1  # `advance` counts the last; other workers may add theirs
        self._news = replace(self._news, history=rows)

    def _due(self) -> bool:
        now = time.monotonic()
        if now - self._shown < PAUSE:
            return False
        self._shown = now
        return True


def _learned(question: Question, exact: Answer, report: Report) -> dict[str, Any] | None:
    """What the trials found, None without any."""
    from planner.search.learned import learned
    from planner.store.place import default_url

    trials = question.wanted.trials
    if trials is None or not exact.scan.complete:
        return None
    if trials.name is not None:
        trials = replace(trials, storage=_stored(default_url))
    try:
        watch = _Watch(report, exact.space, trials.number, "trials")
    except KeyboardInterrupt:  # cancelled between the two: the exact answer is whole
        return None
    return learned(exact, trials, progress=watch.advance, watch=watch.study)


def _stored(place: Callable[[], str]) -> str:
    try:
        return place()
    except OSError as error:
        remedy = f"cannot be kept: {error.strerror}: leave the name out, or set FORERUN_STORAGE"
        raise PlannerError("study", None, remedy) from None


def _found(exact: Answer, answer: dict[str, Any]) -> Found:
    from planner.search.points import keeps
    from planner.search.rows import runs_of_rows, short_row

    space, front = exact.space, set(exact.front)

    def kept(each: Point) -> bool:
        return each.fits and keeps(each, space.run.budget)

    def order(each: Point) -> tuple[bool, bool, bool, float]:
        return (not kept(each), not each.fits, not each.sure, exact.aim.score(each))

    points = [
        short_row(space, each) | {"front": each in front, "keeps_limits": kept(each)}
        for each in sorted(exact.points, key=order)
    ]
    shown = [*points, *answer["alternatives"]]
    if answer["nearest"] is not None:
        shown.append(flat(answer["nearest"]["candidate"]))
    return Found(
        answer=answer,
        points=tuple(points),
        stated=_stated(space),
        runs=tuple(zip(shown, runs_of_rows(space, shown), strict=True)),
    )


def _stated(space: Space) -> dict[str, Any] | None:
    """The settings of the run as stated; None where it cannot be planned."""
    from planner.planning.chosen import chosen_of
    from planner.planning.outline import outline
    from planner.planning.scenario import scenario

    hardware = space.run.hardware
    if hardware.sku is None or hardware.count is None:
        return None
    try:
        chosen = chosen_of(outline(scenario(space.run, model=space.base.model)))
    except PlannerError:
        return None
    return chosen | {"price_mode": space.run.price.mode, "power_limit": hardware.power_limit}
