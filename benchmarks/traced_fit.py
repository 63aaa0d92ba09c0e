"""Fit the constants of traced modules to published rates, and say how each source is missed.

`python -m benchmarks.traced_fit [--write]`: least squares of the logarithms, each source and in it
each accelerator and precision as heavy as the others, with weak priors; then each source left out
of the fit in turn. Two minutes.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from datetime import UTC, datetime
from unittest import mock

import numpy as np
from scipy.optimize import least_squares

from planner.engine import traced
from planner.engine.traced_constants import FILE, TracedConstants
from planner.fidelity.convolutions import Row, log_errors, median_error, rows

NAMES = tuple(TracedConstants.__dataclass_fields__)
START = np.log([1.0, 1.3, 2.0, 1.2])
WIDTH = np.array([0.3, 0.3, 0.5, 0.3])  # of the priors about 1, of the logarithm
PRIOR = 0.1  # weight of all priors against one source


def errors_of(published: list[Row], values: np.ndarray) -> np.ndarray:
    made = TracedConstants(**dict(zip(NAMES, map(float, values), strict=True)))
    with mock.patch.object(traced, "traced_constants", return_value=made):
        return log_errors(published)


def weights(published: list[Row]) -> np.ndarray:
    cell = [(row.source, row.sku_id, row.precision) for row in published]
    number, cells = Counter(cell), Counter(key[0] for key in set(cell))
    return np.array([1 / cells[key[0]] / number[key] for key in cell])


def fitted(published: list[Row]) -> np.ndarray:
    heavy = np.sqrt(weights(published))

    def residuals(logs: np.ndarray) -> np.ndarray:
        return np.concatenate([heavy * errors_of(published, np.exp(logs)), PRIOR * logs / WIDTH])

    return np.exp(least_squares(residuals, START, loss="soft_l1", f_scale=0.2).x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="store the constants")
    args = parser.parse_args()
    published = rows()
    left_out = {}
    for source in sorted({row.source for row in published}):
        values = fitted([row for row in published if row.source != source])
        own = [row for row in published if row.source == source]
        errors = errors_of(own, values)
        left_out[source] = {
            "n": len(own),
            "median_ape": round(median_error(errors), 3),
            "bias": round(float(np.exp(errors.mean())), 3),
            "spread": round(float(errors.std()), 3),
        }
        print(f"{source} left out: {left_out[source]}, constants {values.round(2)}")
    found = fitted(published)
    print(f"all: {dict(zip(NAMES, found.round(4), strict=True))}")
    if args.write:
        about = {
            "constants": {name: round(float(x), 4) for name, x in zip(NAMES, found, strict=True)},
            "fitted": datetime.now(UTC).date().isoformat(),
            "how": "python -m benchmarks.traced_fit --write, on planner/fidelity/data/"
            f"convolution_runs.csv ({len(published)} rates of ResNet-50)",
            "left_out": left_out,
        }
        FILE.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
