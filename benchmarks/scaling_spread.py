"""How far published laws are off on other people's runs, and how families differ.

    python -m benchmarks.scaling_spread            # print
    python -m benchmarks.scaling_spread --write    # also write planner/scaling/data/foreign.csv

The first table is the interval of a loss forecast for a foreign recipe: root mean square of
ln(law / observed) over families of another publication, each family weighing the same, over runs
with at least 5 tokens per parameter and 5e7 parameters. The second gives the scatter of single
runs and the spread of fitted constants, which planner/scaling/data/intervals.toml quotes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from benchmarks.scaling_families import Family, families
from planner.scaling.fit import grid_starts, polish
from planner.scaling.laws import Law, law, law_names
from planner.scaling.surface import SUM_OF_POWERS, Surface

TARGET = Path(__file__).resolve().parents[1] / "planner/scaling/data/foreign.csv"
OWN = {"besiroglu": "epoch", "hoffmann": "epoch", "sardana": "epoch", "kumar": "epoch"}
REFERENCE = Surface(form=SUM_OF_POWERS, centre_params=1e9, centre_tokens=2e10)
LEAST_RATIO = 5.0  # tokens per parameter
LEAST_PARAMS = 5e7


def errors(published: Law, family: Family) -> np.ndarray:
    """ln(law / observed) of the family's runs, shape (runs,)."""
    runs = family.runs
    runs = runs.take((runs.tokens / runs.params >= LEAST_RATIO) & (runs.params >= LEAST_PARAMS))
    return np.log(published.loss(runs.params, runs.tokens) / runs.losses)


def foreign_rows(found: list[Family]) -> list[tuple[str, int, float]]:
    """(law, families, root mean square of log error) for each law of plain dense pre-training."""
    rows = []
    for name in law_names():
        published = law(name)
        if {"experts", "granularity"} & set(published.conditions):
            continue
        own = next((group for word, group in OWN.items() if name.startswith(word)), name)
        foreign = [family for family in found if not own.startswith(family.group)]
        squares = [np.mean(errors(published, family) ** 2) for family in foreign]
        rows.append((name, len(foreign), float(np.sqrt(np.mean(squares)))))
    return rows


def main() -> None:
    """Print both tables; write the first when asked."""
    found = families()
    rows = foreign_rows(found)
    lines = ["law,families,log_rms", *(f"{name},{n},{rms:.4f}" for name, n, rms in rows)]
    print("\n".join(lines))
    noise, thetas = [], []
    for family in found:
        runs = family.runs.take(family.runs.tokens >= family.runs.params)
        fits = [polish(REFERENCE, runs, start) for start in grid_starts(REFERENCE, runs)]
        best = min(fits, key=lambda fit: fit.objective)
        noise.append(1.4826 * float(np.median(np.abs(best.residuals))))
        thetas.append(best.theta)
        print(f"{family.name:20s} noise {noise[-1]:.4f} theta {best.theta.round(3)}")
    settled = [theta for theta in thetas if theta[0] > -0.5]
    print("median noise", np.median(noise).round(4))
    print("spread of theta", np.std(thetas, axis=0, ddof=1).round(3))
    print("spread where E is determined", np.std(settled, axis=0, ddof=1).round(3))
    if "--write" in sys.argv:
        TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
