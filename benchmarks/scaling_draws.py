"""Write planner/scaling/data/besiroglu2024_draws.csv: bootstrap draws of the default law.

The draws are 200 resamples of the 240 runs (5 largest losses dropped) that arXiv:2404.10102 read
off Chinchilla's figure, refitted here; the paper prints standard errors but not the covariance,
which an allocation needs.

    python -m benchmarks.scaling_draws
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.scaling_families import families
from planner.scaling.bootstrap import bootstrap
from planner.scaling.fit import fit_runs

TARGET = Path(__file__).resolve().parents[1] / "planner/scaling/data/besiroglu2024_draws.csv"
COLUMNS = ("E", "A", "alpha", "B", "beta")


def main() -> None:
    """Fit, resample, write."""
    epoch = families()[0].runs
    fitted = bootstrap(fit_runs(epoch), count=200, seed=0)
    draws = [fitted.fit.surface.constants(theta) for theta in fitted.thetas]
    lines = [",".join(f"{draw[name]:.6g}" for name in COLUMNS) for draw in draws]
    TARGET.write_text("\n".join([",".join(COLUMNS), *lines]) + "\n", encoding="utf-8")
    print(f"{len(lines)} draws in {TARGET}")


if __name__ == "__main__":
    main()
