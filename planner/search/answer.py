"""What a search found: the best, the front, why, how surely, and the nearest where nothing fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from planner.engine.constants import Constants
from planner.errors import PlannerError
from planner.planning.outline import outline
from planner.planning.plan import verdict_of
from planner.planning.scenario import scenario
from planner.planning.shortfall import shortfall_of
from planner.run import Budget
from planner.search.keeper import RELAXED
from planner.search.points import Aim, Point, best, broken, front, keeps, nearest, points
from planner.search.robustness import robustness
from planner.search.rows import outline_of, row_of, short_row
from planner.search.scan import Scan
from planner.search.space import Space

SCHEMA = "forerun.search/1"
ALTERNATIVES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of an exhaustive search. `to_json` gives it as plain values."""

    space: Space
    scan: Scan
    aim: Aim
    points: tuple[Point, ...]  # the best of every pool at every price
    best: Point | None
    front: tuple[Point, ...]
    constants: Constants

    @property
    def fits(self) -> bool:
        return self.best is not None

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers; unknown is None."""
        chosen = self.best
        return {
            "schema": SCHEMA,
            "model": self.space.base.model.name,
            "by": self.aim.by,
            "fits": self.fits,
            "complete": self.scan.complete,
            "candidates": self._counts(),
            "best": None if chosen is None else row_of(self.space, chosen),
            "run_file": None if chosen is None else self.run_file(chosen),
            "as_stated": as_stated(self.space),
            "pareto": [short_row(self.space, point) for point in self.front],
            "best_by": self._best_by(),
            "alternatives": self._alternatives(),
            "relaxing": [] if chosen is None else relaxing(self, chosen),
            "robustness": None if chosen is None else self._robustness(chosen),
            "nearest": None if chosen is not None else nearest_of(self),
            "excluded": _excluded(self.space),
            "warnings": self._warnings(),
        }

    def run_file(self, point: Point) -> dict[str, Any]:
        """The run with everything decided, as a run file says it."""
        run = self.space.groups[point.group].run(point.index, point.mode)
        return _without_nothing(run.to_mapping())

    def _counts(self) -> dict[str, Any]:
        seconds = self.scan.seconds
        return {
            "valid": self.space.size,
            "evaluated": self.scan.evaluated,
            "memory_evaluated": self.scan.memory_evaluated,
            "groups": len(self.space.groups),
            "seconds": seconds,
            "per_second": self.scan.evaluated / seconds if seconds else None,
        }

    def _best_by(self) -> dict[str, list[dict[str, Any]]]:
        """The best with each precision and on each number of accelerators, by the aim."""
        found: dict[str, list[dict[str, Any]]] = {}
        for name in ("precision", "count", "sku", "power_limit"):
            values = list(dict.fromkeys(getattr(point.pool, name) for point in self.points))
            if len(values) == 1:
                continue
            rows = []
            for value in values:
                mine = [each for each in self.points if getattr(each.pool, name) == value]
                top = best(mine, self.aim, Budget()) or nearest(mine, Budget())
                assert top is not None
                rows.append(short_row(self.space, top) | {"keeps_limits": self._kept(top)})
            found[name] = rows
        return found

    def _kept(self, point: Point) -> bool:
        return point.fits and keeps(point, self.space.run.budget)

    def _alternatives(self) -> list[dict[str, Any]]:
        """The next best on the best's own machine, where layouts of equal speed stand in turn."""
        if self.best is None:
            return []
        chosen, keeper = self.best, self.scan.keepers[self.best.pool]
        kept = keeper.sure if chosen.sure else keeper.likely
        others = points(self.space, {chosen.pool: keeper}, lambda _: kept)
        rows = [each for each in others if each != chosen and each.mode == chosen.mode]
        return [short_row(self.space, each) for each in rows[:ALTERNATIVES]]

    def _robustness(self, chosen: Point) -> dict[str, Any]:
        drawn = robustness(self.space, self.scan.keepers, chosen, self.aim, self.constants)
        other = drawn.runner_up
        plain = asdict(replace(drawn, runner_up=None))
        plain["runner_up"] = None if other is None else short_row(self.space, other)
        return {name: None if value != value else value for name, value in plain.items()}

    def _warnings(self) -> list[str]:
        found = list(self.space.warnings)
        if not self.scan.complete:
            found.append(
                f"interrupted after {self.scan.evaluated:,} of {self.space.size:,} candidates: "
                "the best of those"
            )
        if self.best is not None and not self.best.sure:
            found.append("the best only probably fits: no candidate fits with 90 % probability")
        if self.points and all(point.usd is None for point in self.points):
            reason = self.space.groups[0].offers[0].reason
            if self.space.run.budget.usd is not None:
                found.append(f"budget.usd cannot be checked, so nothing keeps it: {reason}")
            if self.aim.by in ("cost", "value"):
                found.append(f"nothing can be ranked by {self.aim.by}, time decides: {reason}")
        return found


def answer(space: Space, done: Scan, aim: Aim, c: Constants) -> Answer:
    """Put the answer of a scan together."""
    found = points(space, done.keepers)
    fitting = [each for each in found if each.fits and keeps(each, space.run.budget)]
    return Answer(
        space=space,
        scan=done,
        aim=aim,
        points=tuple(found),
        best=best(found, aim, space.run.budget),
        front=tuple(front(fitting)),
        constants=c,
    )


def relaxing(made: Answer, chosen: Point) -> list[dict[str, Any]]:
    """What a tenth more of each limit buys: memory, money, time, energy. Most gain first."""
    budget = made.space.run.budget
    rows = [_relaxed(made, chosen, "memory", _with_memory(made), budget)]
    for name in ("usd", "days", "kwh"):
        allowed = getattr(budget, name)
        if allowed is not None:
            wider = replace(budget, **{name: allowed * RELAXED})
            rows.append(_relaxed(made, chosen, f"budget.{name}", list(made.points), wider))
    return sorted(rows, key=lambda row: -row["gain"])


def _with_memory(made: Answer) -> list[Point]:
    """The best of every pool as if the accelerators had a tenth more memory."""
    roomy = points(made.space, made.scan.keepers, lambda keeper: keeper.roomy)
    return [*made.points, *(replace(each, fits=True, sure=True) for each in roomy)]


def _relaxed(
    made: Answer, chosen: Point, limit: str, found: list[Point], budget: Budget
) -> dict[str, Any]:
    other = best(found, made.aim, budget) or chosen
    gain = _gain(made.aim, chosen, other)
    binds = gain > 1e-12
    return {
        "limit": limit,
        "relaxed_by": RELAXED - 1,
        "binds": binds,
        "gain": max(gain, 0.0),
        "to": short_row(made.space, other) if binds else None,
    }


def _gain(aim: Aim, chosen: Point, other: Point) -> float:
    """Share of the aim that another point saves."""
    import math

    old, new = aim.score(chosen), aim.score(other)
    if aim.by == "value":
        return 1 - math.exp(new - old)
    return 1 - new / old if math.isfinite(old) else 0.0


def nearest_of(made: Answer) -> dict[str, Any] | None:
    """The candidate nearest to an answer, what it breaks, and which limit to relax by how much."""
    budget = made.space.run.budget
    point = nearest(made.points, budget)
    if point is None:
        return None
    bones = outline_of(made.space, point)
    lacking = [] if point.fits else [_memory_row(point)]
    rows = [
        {"limit": name, "from": allowed, "to": needed, "factor": needed / allowed}
        for name, allowed, needed in broken(point, budget)
    ]
    violated = [*lacking, *rows]
    return {
        "candidate": row_of(made.space, point),
        "violated": violated,
        "relax": [{**row, "alone": len(violated) == 1} for row in violated],
        "alone": _alone(made),
        "shortfall": None if point.fits else shortfall_of(bones),
    }


def _memory_row(point: Point) -> dict[str, Any]:
    return {"limit": "memory", "from": 1.0, "to": point.ratio, "factor": point.ratio}


def _alone(made: Answer) -> list[dict[str, Any]]:
    """For each limit, how far it must be relaxed when it is the only one that is."""
    budget, found = made.space.run.budget, []
    fitting = [each for each in made.points if each.fits]
    for name in ("usd", "days", "kwh"):
        allowed = getattr(budget, name)
        if allowed is None:
            continue
        others = replace(budget, **{name: None})
        needed = [
            value
            for each in fitting
            if keeps(each, others) and (value := _needed(each, name)) is not None
        ]
        if needed and min(needed) > allowed:
            least = min(needed)
            row = {"limit": f"budget.{name}", "from": allowed, "to": least}
            found.append({**row, "factor": least / allowed})
    return sorted(found, key=lambda row: float(row["factor"]))


def _needed(point: Point, name: str) -> float | None:
    return {"usd": point.usd, "days": point.seconds / 86_400.0, "kwh": point.kwh}[name]


def as_stated(space: Space) -> dict[str, Any] | None:
    """The run as it stands, its open choices made as `forerun plan` makes them; None if it cannot
    be planned."""
    hardware = space.run.hardware
    if hardware.sku is None or hardware.count is None:
        return None
    try:
        bones = outline(scenario(space.run, model=space.base.model))
    except PlannerError as error:
        return {"error": str(error)}
    return {
        "fits": bones.fits,
        "verdict": verdict_of(bones.fit_probability),
        "seconds": bones.run.seconds,
        "step_seconds": bones.step.seconds,
        "usd": bones.cost.usd,
        "kwh": bones.energy.kwh,
    }


def _excluded(space: Space) -> list[dict[str, Any]]:
    """Parts of the space that cannot run, joined by reason."""
    joined: dict[tuple[str, str, str], list[int]] = {}
    for each in space.excluded:
        joined.setdefault((each.sku, each.words, each.reason), []).append(each.count)
    return [
        {"sku": sku, "words": words, "reason": reason, "counts": sorted(set(counts))}
        for (sku, words, reason), counts in joined.items()
    ]


def _without_nothing(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """A run file without the keys that say nothing."""
    found = {}
    for name, value in mapping.items():
        kept = _without_nothing(value) if isinstance(value, Mapping) else value
        if kept is not None and kept != {}:
            found[name] = kept
    return found
