"""A sampler for training configurations: neighbours of the best, between rounds of TPE.

The axes are few, ordered and coupled, and most of the good candidates are one or two steps from
another good one; a sampler of densities needs many trials to see that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna

from planner.search.encoding import Candidate, Coordinate, Encoding, Params

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

States = optuna.trial.TrialState

EXPLORE = 12  # every so many trials, one is left to TPE
PAIRS = 60  # pairs of changes that are tried before a trial is left to TPE
ELITE, ELITE_SHARE = 6, 0.4  # how often a neighbour of the best of another layout is taken
LAYOUT = ("count", "tp", "pp", "ep", "cp")  # trials that agree in these are of one layout
SHARED = ("tp", "pp", "cp", "ep", "micro_batch")  # what one takes up another gives back


class NeighbourSampler(optuna.samplers.BaseSampler):
    """Proposes candidates that no trial has tried, near the best that keep the constraints."""

    def __init__(self, encoding: Encoding, seed: int | None = None) -> None:
        self._encoding = encoding
        self._generator = np.random.default_rng(seed)
        self._tpe = optuna.samplers.TPESampler(seed=seed)
        self._decoded: dict[int, Candidate] = {}

    def reseed_rng(self) -> None:
        self._generator = np.random.default_rng()
        self._tpe.reseed_rng()

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return self._encoding.distributions()

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        trials = study.get_trials(deepcopy=False)
        seen = {self._candidate(each) for each in trials if each.number != trial.number}
        done = [each for each in trials if each.state == States.COMPLETE]
        if not done or trial.number % EXPLORE == 0:
            return self._explored(study, trial, search_space)
        best = self._incumbent(done, len(study.directions))
        for params in self._neighbours(best):
            if self._encoding.decode(params) not in seen:
                return params
        return self._explored(study, trial, search_space)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: Any
    ) -> Any:
        return self._tpe.sample_independent(study, trial, param_name, param_distribution)

    def _explored(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return {
            name: self._tpe.sample_independent(study, trial, name, distribution)
            for name, distribution in search_space.items()
        }

    def _candidate(self, trial: FrozenTrial) -> Candidate | None:
        """What a trial tries; None while it has not said."""
        if trial.number not in self._decoded:
            names = {each.name for each in self._encoding.coordinates}
            if names - set(trial.params):
                return None
            self._decoded[trial.number] = self._encoding.decode(trial.params)
        return self._decoded[trial.number]

    def _incumbent(self, done: Sequence[FrozenTrial], num_objectives: int) -> Params:
        """The best trial, or that of another layout; of several objectives by a random weight."""
        weights = self._generator.dirichlet(np.full(num_objectives, 0.5))
        by_layout: dict[tuple[Any, ...], FrozenTrial] = {}
        for each in sorted(done, key=lambda each: _rank(each, weights)):
            by_layout.setdefault(tuple(each.params.get(name) for name in LAYOUT), each)
        ordered = list(by_layout.values())[:ELITE]
        other = self._generator.random() < ELITE_SHARE
        chosen = ordered[int(self._generator.integers(len(ordered)))] if other else ordered[0]
        return self._encoding.encode(self._encoding.decode(chosen.params))

    def _neighbours(self, best: Params) -> Iterator[Params]:
        """One step from the best in every direction, or one that another takes back, in random
        order; then pairs of steps."""
        steps = [
            {each.name: value}
            for each in self._encoding.coordinates
            for value in _beside(each, best[each.name])
        ]
        moves = [*steps, *_exchanges(self._encoding.coordinates, best)]
        for position in self._generator.permutation(len(moves)):
            yield best | moves[position]
        for _ in range(PAIRS):
            first, second = self._generator.choice(len(steps), 2)
            yield best | steps[first] | steps[second]


def _exchanges(coordinates: Sequence[Coordinate], best: Params) -> list[Params]:
    """One degree a step up and another a step down."""
    mine = {each.name: each for each in coordinates if each.name in SHARED}
    return [
        {up: best[up] + 1, down: best[down] - 1}
        for up in mine
        for down in mine
        if up != down and best[up] + 1 < len(mine[up].values) and best[down] > 0
    ]


def violation(trial: FrozenTrial) -> float:
    """How far a trial is from keeping its constraints; 0 where it keeps them."""
    return sum(max(value, 0.0) for value in trial.constraints.values())


def _rank(trial: FrozenTrial, weights: Any) -> tuple[float, float]:
    values = np.log(np.maximum(np.array(trial.values, dtype=np.float64), 1e-300))
    return violation(trial), float(values @ weights)


def _beside(each: Coordinate, parameter: Any) -> list[Any]:
    """The next values of a coordinate on either side; the other words of one without an order."""
    if not each.ordered:
        return [word for word in each.values if word != parameter]
    sides = (parameter - 2, parameter - 1, parameter + 1, parameter + 2)
    return [side for side in sides if 0 <= side < len(each.values)]
