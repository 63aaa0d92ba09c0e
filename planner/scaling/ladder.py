"""Which small runs narrow the forecast of a large one most, for a given compute."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.errors import PlannerError
from planner.scaling.forms import FloatArray
from planner.scaling.identify import require_identifiable
from planner.scaling.laws import Law, choose_law, positive
from planner.scaling.runs import Runs
from planner.scaling.surface import SUM_OF_POWERS, Surface
from planner.scaling.widths import (
    LEVEL,
    constants_spread,
    drift_per_decade,
    foreign_recipe,
    normal_quantile,
    run_noise,
)

REFERENCE = Surface(form=SUM_OF_POWERS, centre_params=1e9, centre_tokens=2e10)
RATIOS = (10.0, 20.0, 40.0, 80.0, 160.0)  # tokens per parameter that a run may have
SIZES_PER_DECADE = 6
FARTHEST = 300.0  # target over smallest size
SMALLEST_PARAMS = 1e7  # below it a transformer is mostly embedding
LARGEST_SHARE = 0.5  # of the budget that one run may take
MOST_SEEDS = 3  # of one configuration
MOST_RUNS = 16  # seeds counted
THRIFT = (0.0, 0.35, 0.7, 1.0)  # exponents of cost by which the greedy choice weighs a run


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRun:
    """One configuration of the ladder."""

    params: float
    tokens: float
    seeds: int  # repetitions with other seeds
    flops: float  # of all seeds


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """The runs to make and how sure the forecast of the target will be then (80 %)."""

    runs: tuple[LadderRun, ...]  # smallest first
    flops: float  # of all runs
    target_params: float
    target_tokens: float
    loss: float  # nats per token, under the law assumed
    low: float  # expected interval after the ladder
    high: float
    low_before: float  # interval without it: a foreign recipe's
    high_before: float
    law: str


def design_ladder(
    *, flops: float, params: float, tokens: float, law: str | Law | None = None
) -> Ladder:
    """Runs within `flops` that best narrow the loss of `params` parameters on `tokens` tokens.

    Linearises E + A·N^-alpha + B·D^-beta about `law`, starts from how constants differ between
    families, and adds the run that takes most off the target's variance for its cost, several
    times with different thrift. A run far below the target says less, since laws drift over
    decades of compute, and more seeds of it do not help against that. Raises PlannerError when the
    budget is too small for any ladder that can identify a law, or larger than the target run.

    >>> plan = design_ladder(flops=1e20, params=1e9, tokens=2e10)
    >>> plan.flops <= 1e20 and plan.high - plan.low < plan.high_before - plan.low_before
    True
    """
    chosen = choose_law(law, {})
    target = Runs(
        params=np.array([float(positive("params", params))]),
        tokens=np.array([float(positive("tokens", tokens))]),
        losses=np.ones(1),
    )
    budget = float(positive("flops", flops))
    if budget >= float(target.flops[0]):
        remedy = f"the target itself costs {float(target.flops[0]):.3g} FLOP: run it instead"
        raise PlannerError("flops", flops, remedy)
    theta = _theta(chosen)
    candidates = _candidates(target, budget)
    plans = [_greedy(candidates, target, theta, budget, thrift) for thrift in THRIFT]
    usable = [plan for plan in plans if _identifies(candidates, plan)]
    if not usable:
        raise PlannerError("flops", flops, "buys too few runs of this target's scale; raise it")
    best = min(usable, key=lambda plan: _deviation(candidates, plan, target, theta))
    return _ladder(candidates, best, target, theta, chosen)


def forecast_deviation(
    runs: Runs, *, params: float, tokens: float, law: str | Law | None = None
) -> float:
    """Standard deviation of log loss expected at a target after fitting these runs.

    What `design_ladder` minimises, for any ladder one may have in mind.
    """
    target = Runs(params=np.array([params]), tokens=np.array([tokens]), losses=np.ones(1))
    return _deviation(runs, list(range(len(runs))), target, _theta(choose_law(law, {})))


def _theta(law: Law) -> FloatArray:
    """The law's constants in the reference surface's coordinates."""
    constants = dict(law.constants)
    if not {"E", "A", "alpha", "B", "beta"} <= constants.keys() or "k" in constants:
        raise PlannerError("law", law.name, "a ladder needs a law E + A·N^-alpha + B·D^-beta")
    size = np.log(constants["A"]) - constants["alpha"] * np.log(REFERENCE.centre_params)
    data = np.log(constants["B"]) - constants["beta"] * np.log(REFERENCE.centre_tokens)
    return np.array([np.log(constants["E"]), size, data, constants["alpha"], constants["beta"]])


def _candidates(target: Runs, budget: float) -> Runs:
    largest = float(target.params[0])
    decades = np.log10(min(largest / SMALLEST_PARAMS, FARTHEST))
    if decades * SIZES_PER_DECADE < 3:
        remedy = f"a ladder needs a target of more than {4 * SMALLEST_PARAMS:.0e} parameters"
        raise PlannerError("params", largest, remedy)
    sizes = largest * 10.0 ** (
        -np.arange(1, int(decades * SIZES_PER_DECADE) + 1) / SIZES_PER_DECADE
    )
    params, ratios = (grid.ravel() for grid in np.meshgrid(sizes, np.array(RATIOS)))
    everything = Runs(params=params, tokens=params * ratios, losses=np.ones(len(params)))
    affordable = everything.flops <= budget * LARGEST_SHARE
    if not affordable.any():
        raise PlannerError("flops", budget, "buys not even the smallest run of a ladder; raise it")
    return everything.take(affordable)


def _greedy(
    candidates: Runs, target: Runs, theta: FloatArray, budget: float, thrift: float
) -> list[int]:
    """Positions of the chosen candidates, repeated for seeds."""
    jacobian = REFERENCE.jacobian(theta, candidates.params, candidates.tokens)
    direction = REFERENCE.jacobian(theta, target.params, target.tokens)[0]
    drift = _drift_variances(candidates, target)
    covariance = np.diag(np.array(constants_spread()) ** 2)
    chosen: list[int] = []
    left = budget
    while len(chosen) < MOST_RUNS:
        seeds = np.bincount(np.array(chosen, dtype=np.int64), minlength=len(candidates))
        allowed = (candidates.flops <= left) & (seeds < MOST_SEEDS)
        if not allowed.any():
            break
        lifted = jacobian @ covariance
        spread = np.einsum("ij,ij->i", lifted, jacobian) + _added_variance(drift, seeds)
        gain = (lifted @ direction) ** 2 / spread
        score = np.where(allowed, gain / candidates.flops**thrift, -np.inf)
        best = int(np.argmax(score))
        covariance = covariance - np.outer(lifted[best], lifted[best]) / spread[best]
        left -= float(candidates.flops[best])
        chosen.append(best)
    return chosen


def _drift_variances(runs: Runs, target: Runs) -> FloatArray:
    """Variance of log loss of each run's law about the one that holds at the target."""
    decades = np.log10(np.maximum(target.flops[0] / runs.flops, 1.0))
    variances: FloatArray = (drift_per_decade() * decades) ** 2
    return variances


def _added_variance(drift: FloatArray, seeds: npt.NDArray[np.int64]) -> FloatArray:
    """Variance of the independent observation that one more seed of each run amounts to."""
    after = 1 / (drift + run_noise() ** 2 / (seeds + 1))
    before = np.where(seeds > 0, 1 / (drift + run_noise() ** 2 / np.maximum(seeds, 1)), 0.0)
    added: FloatArray = 1 / (after - before)
    return added


def _deviation(candidates: Runs, chosen: list[int], target: Runs, theta: FloatArray) -> float:
    positions, seeds = np.unique(np.array(chosen, dtype=np.int64), return_counts=True)
    runs = candidates.take(positions)
    jacobian = REFERENCE.jacobian(theta, runs.params, runs.tokens)
    variances = _drift_variances(runs, target) + run_noise() ** 2 / seeds
    precision = np.diag(np.array(constants_spread()) ** -2.0)
    precision += jacobian.T @ (jacobian / variances[:, None])
    direction = REFERENCE.jacobian(theta, target.params, target.tokens)[0]
    law_variance = float(direction @ np.linalg.solve(precision, direction))
    decades = np.log10(max(float(target.flops[0] / runs.flops.max()), 1.0))
    return float(np.sqrt(law_variance + run_noise() ** 2 + (drift_per_decade() * decades) ** 2))


def _identifies(candidates: Runs, chosen: list[int]) -> bool:
    try:
        runs = candidates.take(np.array(chosen, dtype=np.int64))
        require_identifiable(runs, num_constants=REFERENCE.num_constants)
    except PlannerError:
        return False
    return True


def _ladder(
    candidates: Runs, chosen: list[int], target: Runs, theta: FloatArray, law: Law
) -> Ladder:
    loss = float(np.exp(REFERENCE.log_loss(theta, target.params, target.tokens))[0])
    after = normal_quantile(LEVEL) * _deviation(candidates, chosen, target, theta)
    before = normal_quantile(LEVEL) * foreign_recipe(law.name)
    runs = [
        LadderRun(
            params=float(candidates.params[i]),
            tokens=float(candidates.tokens[i]),
            seeds=seeds,
            flops=float(candidates.flops[i]) * seeds,
        )
        for i, seeds in Counter(chosen).items()
    ]
    return Ladder(
        runs=tuple(sorted(runs, key=lambda run: (run.params, run.tokens))),
        flops=sum(run.flops for run in runs),
        target_params=float(target.params[0]),
        target_tokens=float(target.tokens[0]),
        loss=loss,
        low=loss * float(np.exp(-after)),
        high=loss * float(np.exp(after)),
        low_before=loss * float(np.exp(-before)),
        high_before=loss * float(np.exp(before)),
        law=law.name,
    )
