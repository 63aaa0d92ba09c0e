"""What one trial of a study finds out: the prediction of one candidate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from planner.engine.constants import Constants, constants
from planner.search.chunks import Chunk, Piece
from planner.search.encoding import Candidate, Encoding
from planner.search.keeper import Kept
from planner.search.points import DAY, Aim, Point, points_of
from planner.search.scan import memory_ratio, run_seconds
from planner.search.space import Space

if TYPE_CHECKING:
    from optuna.trial import Trial

OBJECTIVES = ("time", "cost", "energy")


def point_of(space: Space, candidate: Candidate, c: Constants) -> Point:
    """One candidate evaluated, at the first of the prices."""
    number, index = candidate
    group = space.groups[number]
    chunk = Chunk(pieces=(Piece(number=number, group=group, start=index, stop=index + 1),))
    batch = chunk.batch()
    kept = Kept(
        group=np.array([number]),
        index=np.array([index]),
        seconds=run_seconds(chunk, batch, c),
        ratio=memory_ratio(batch, c),
        surety=np.array([group.surety]),
    )
    return points_of(space, group.pool, kept, 0)[0]


def constraints(space: Space, point: Point) -> dict[str, float]:
    """By limit the logarithm of needed over allowed: above 0 it is broken. Memory must be sure."""
    budget = space.run.budget
    found = {"memory": math.log(point.ratio / space.groups[point.group].surety)}
    rows = (
        ("usd", point.usd, budget.usd),
        ("days", point.seconds / DAY, budget.days),
        ("kwh", point.kwh, budget.kwh),
    )
    for name, needed, allowed in rows:
        if allowed is not None and needed is not None:
            found[name] = math.log(needed / allowed)
    return found


def objectives(space: Space, aim: Aim | None) -> tuple[str, ...]:
    """The names of a study's objectives: the aim alone, or all that are known for every group."""
    if aim is not None:
        return (aim.by,)
    known = {"time": True}
    known["cost"] = all(g.offers[0].usd_per_second is not None for g in space.groups)
    known["energy"] = all(g.kwh_per_second is not None for g in space.groups)
    return tuple(name for name in OBJECTIVES if known[name])


class Predicted:
    """The objective of a study over predictions; `aim` None takes time, cost and energy apart."""

    def __init__(self, encoding: Encoding, aim: Aim | None) -> None:
        self._encoding, self._aim = encoding, aim
        self._names = objectives(encoding.space, aim)
        self._constants = constants()

    def __call__(self, trial: Trial) -> float | tuple[float, ...]:
        params = suggested(trial, self._encoding)
        candidate = self._encoding.decode(params)
        point = point_of(self._encoding.space, candidate, self._constants)
        trial.set_user_attr("candidate", list(candidate))
        for name, value in constraints(self._encoding.space, point).items():
            trial.set_constraint(name, value)
        values = tuple(Aim(by=name).score(point) for name in self._names if self._aim is None)
        return values if self._aim is None else self._score(point, self._aim)

    def _score(self, point: Point, aim: Aim) -> float:
        score = aim.score(point)
        return math.exp(score) if aim.by == "value" else score


def suggested(trial: Trial, encoding: Encoding) -> dict[str, object]:
    """The parameters that a trial tries."""
    found: dict[str, object] = {}
    for each in encoding.coordinates:
        if each.ordered:
            found[each.name] = trial.suggest_int(each.name, 0, len(each.values) - 1)
        else:
            found[each.name] = trial.suggest_categorical(each.name, each.values)
    return found
