"""Does the best stay the best when the model errs as much as it is known to?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from planner.engine.constants import Constants
from planner.engine.step import StepSeconds, step_seconds
from planner.planning.doubts import doubts_of
from planner.planning.intervals import time_spread
from planner.search.chunks import Chunk, Piece
from planner.search.group import PoolKey
from planner.search.keeper import Keeper
from planner.search.points import Aim, Point, keeps, points_of
from planner.search.scan import as_computed
from planner.search.space import Space

Array = np.ndarray[Any, np.dtype[Any]]

DRAWS = 400
SEED = 20_260
RIVALS = 256  # candidates that are drawn against each other


@dataclass(frozen=True, slots=True, kw_only=True)
class Robustness:
    """What came of drawing errors. Shares are of the draws."""

    draws: int
    rivals: int  # candidates compared
    stays_best: float
    fits: float  # the best still fits
    median_loss: float  # of the aim against the draw's own best, where the best fits
    p90_loss: float
    worst_loss: float
    runner_up: Point | None  # the candidate that is best most often beside the best
    runner_up_share: float


def robustness(
    space: Space,
    keepers: Mapping[PoolKey, Keeper],
    chosen: Point,
    aim: Aim,
    c: Constants,
) -> Robustness:
    """Draw errors of every named part of the step, the same for all candidates, and of the memory.

    Each part errs by a log-normal factor as wide as whole step times were measured to err, each
    independent of the others; the predicted peaks by one factor. Candidates rank by how they use
    the parts, so an error that all share moves none.
    """
    rivals = _rivals(space, keepers, chosen, aim)
    parts = _parts(space, rivals, c)
    generator = np.random.default_rng(SEED)
    scenario = space.groups[chosen.group].scenario
    sigma = time_spread(doubts_of(scenario)).sigma
    factors = np.exp(sigma * generator.standard_normal((DRAWS, parts.shape[1])))
    memory = np.exp(space.groups[chosen.group].memory.sigma * generator.standard_normal((DRAWS, 1)))
    slower = (factors @ parts.T) / parts.sum(axis=1)  # (draws, rivals), against the prediction
    scores = _scores(rivals, slower, aim)
    ratios = np.array([each.ratio for each in rivals])
    scores = np.where(memory * ratios <= 1.0, scores, np.inf)
    return _summary(rivals, rivals.index(chosen), scores, aim)


def _rivals(
    space: Space, keepers: Mapping[PoolKey, Keeper], chosen: Point, aim: Aim
) -> list[Point]:
    """The chosen point and the best of the others, by the aim."""
    found = [
        point
        for pool, keeper in keepers.items()
        for kept in (keeper.sure, keeper.likely)
        for row in range(kept.size)
        for point in points_of(space, pool, kept, row)
        if keeps(point, space.run.budget)
    ]
    ordered = sorted(dict.fromkeys(found), key=aim.score)[:RIVALS]
    return list(dict.fromkeys([chosen, *ordered]))


def _parts(space: Space, rivals: Sequence[Point], c: Constants) -> Array:
    """Seconds of every named part of a step, (rivals, parts)."""
    rows = []
    for point in rivals:
        group = space.groups[point.group]
        piece = Piece(number=point.group, group=group, start=point.index, stop=point.index + 1)
        chunk = Chunk(pieces=(piece,))
        step = step_seconds(as_computed(chunk, chunk.batch()), c)
        rows.append([float(np.ravel(getattr(step, each.name))[0]) for each in fields(StepSeconds)])
    return np.array(rows)


def _scores(rivals: Sequence[Point], slower: Array, aim: Aim) -> Array:
    """The aim as a product of powers, (draws, rivals); time, cost and energy rise together."""
    score = np.array([aim.score(point) for point in rivals])
    if aim.by != "value":
        return np.asarray(score * slower)
    return np.asarray(np.exp(score - score.min()) * slower ** sum(aim.weights.values()))


def _summary(rivals: Sequence[Point], mine: int, scores: Array, aim: Aim) -> Robustness:
    least = scores.min(axis=1)
    possible = np.isfinite(least)
    fits = np.isfinite(scores[:, mine])
    loss = scores[fits, mine] / least[fits] - 1
    winners = np.argmin(scores, axis=1)
    # a candidate that ties with the winner, such as one of equal parts, counts as the winner
    stays = fits & (scores[:, mine] <= least * (1 + 1e-12))
    shares = np.bincount(winners[possible & ~stays], minlength=len(rivals)) / len(scores)
    other = int(np.argmax(shares))
    loss = loss if len(loss) else np.array([np.nan])
    return Robustness(
        draws=len(scores),
        rivals=len(rivals),
        stays_best=float(stays.mean()),
        fits=float(fits.mean()),
        median_loss=float(np.median(loss)),
        p90_loss=float(np.quantile(loss, 0.9)),
        worst_loss=float(loss.max()),
        runner_up=rivals[other] if shares[other] > 0 else None,
        runner_up_share=float(shares[other]),
    )
