"""Fit each family's smaller runs, predict its largest: the error and the coverage that result.

    python -m benchmarks.scaling_holdout

Two splits are printed. The first, on which the targets stand, holds out the largest quarter of a
family's runs by compute (Epoch: every run of 1e20 FLOP and more). The second holds out the largest
model size. The form is the default E + A·N^-alpha + B·D^-beta; the error of the alternative form
is shown beside it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.scaling_families import Family, families
from planner.scaling.bootstrap import bootstrap
from planner.scaling.fit import fit_runs
from planner.scaling.surface import POWER_OF_SUM

TARGETS = {"olmo": 0.01, "steplaw": 0.01, "gadre": 0.015, "epoch": 0.015, "muennighoff": 0.045}
COVERAGE = (0.75, 0.90)  # wanted of the 80 % intervals, pooled over families


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one family's hold-out gave."""

    family: str
    group: str
    num_fitted: int
    errors: np.ndarray  # predicted/observed - 1 of each held-out run
    covered: np.ndarray  # whether the 80 % interval holds it
    other_form_error: float  # mean absolute error of the power of a sum


def hold_out(family: Family, *, draws: int = 200) -> Result:
    """Fit the smaller runs and predict the largest."""
    smaller, largest = (
        family.runs.take(~family.held_out),
        family.runs.take(family.held_out),
    )
    fitted = bootstrap(fit_runs(smaller), count=draws)
    forecast = fitted.forecast(largest.params, largest.tokens)
    other = fit_runs(smaller, form=POWER_OF_SUM).predict(largest.params, largest.tokens)
    return Result(
        family=family.name,
        group=family.group,
        num_fitted=len(smaller),
        errors=forecast.value / largest.losses - 1,
        covered=(forecast.low <= largest.losses) & (largest.losses <= forecast.high),
        other_form_error=float(np.abs(other / largest.losses - 1).mean()),
    )


def group_errors(results: list[Result]) -> dict[str, float]:
    """Mean absolute error of each publication, families weighing by their held-out runs."""
    pooled: dict[str, list[np.ndarray]] = defaultdict(list)
    for result in results:
        pooled[result.group].append(np.abs(result.errors))
    return {group: float(np.concatenate(errors).mean()) for group, errors in pooled.items()}


def pooled_coverage(results: list[Result]) -> tuple[float, float]:
    """Share of held-out runs inside their interval: runs weighing equally, families equally."""
    by_run = np.concatenate([result.covered for result in results]).mean()
    return float(by_run), float(np.mean([result.covered.mean() for result in results]))


def by_size(family: Family) -> Family:
    """The same family with its largest model size held out."""
    sizes = family.runs.params
    return replace(family, held_out=sizes >= 0.95 * sizes.max())


def report(title: str, results: list[Result]) -> None:
    """Print one split."""
    print(f"\n{title}")
    print(f"{'family':20s} fitted  held out   error    bias  coverage  other form")
    for result in results:
        print(
            f"{result.family:20s} {result.num_fitted:6d} {len(result.errors):9d} "
            f"{np.abs(result.errors).mean():7.2%} {result.errors.mean():+7.2%} "
            f"{result.covered.mean():9.0%} {result.other_form_error:11.2%}"
        )
    for group, error in group_errors(results).items():
        print(f"  {group:12s} {error:6.2%}  (target {TARGETS[group]:.1%})")
    by_run, by_family = pooled_coverage(results)
    print(f"  80 % intervals hold {by_run:.0%} of the runs, {by_family:.0%} by mean of families")


def main() -> None:
    """Print both splits."""
    found = families()
    report("Largest quarter by compute held out", [hold_out(family) for family in found])
    report(
        "Largest size held out",
        [hold_out(by_size(family)) for family in found if family.group != "epoch"],
    )


if __name__ == "__main__":
    main()
