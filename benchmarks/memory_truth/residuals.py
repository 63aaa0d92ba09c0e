"""How far the closed forms are from the traces: `python -m benchmarks.memory_truth.residuals`."""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Iterable, Mapping

from benchmarks.memory_truth import grid, saved, table, weights
from benchmarks.memory_truth.case import Case
from benchmarks.memory_truth.peak import Peak, peak

Measured = Mapping[str, int | str]

FORMS: dict[str, Callable[[Case, Peak], float]] = {
    "param_bytes": lambda case, _: weights.weight_bytes(case),
    "grad_bytes": lambda case, _: weights.gradient_bytes(case),
    "optimizer_bytes": lambda case, _: weights.optimizer_bytes(case),
    "saved_activation_bytes_per_layer": lambda case, _: saved.layer_bytes(case),
    "peak_head_bytes": lambda _, form: max(form.head_forward, form.head_backward),
    "peak_layers_backward_bytes": lambda _, form: form.layers_backward,
    "peak_optimizer_bytes": lambda _, form: form.optimizer,
    "peak_bytes": lambda _, form: form.step,
}


def errors(rows: Iterable[tuple[Case, Measured]]) -> dict[str, dict[str, float]]:
    """Per column: relative error (predicted/traced − 1) by case id; columns of zero left out."""
    found: dict[str, dict[str, float]] = {name: {} for name in FORMS}
    for case, measured in rows:
        form = peak(case)
        for name, formula in FORMS.items():
            if traced := int(measured[name]):
                found[name][case.id] = formula(case, form) / traced - 1
    return found


def fresh_rows(number: int, seed: int) -> list[tuple[Case, Measured]]:
    """Newly traced random cases that no formula has seen."""
    from dataclasses import asdict

    from benchmarks.memory_truth.trace import trace

    drawn = grid.random_cases(number, random.Random(seed))
    return [(case, asdict(trace(case))) for case in drawn]


def report(found: dict[str, dict[str, float]], num_worst: int) -> None:
    """Print median, 90th percentile and worst of every column."""
    for name, by_case in found.items():
        ranked = sorted(by_case.items(), key=lambda item: abs(item[1]))
        sizes = [abs(error) for _, error in ranked]
        p90 = sizes[int(0.9 * (len(sizes) - 1))]
        print(f"{name:34s} n {len(sizes):3d}  median {statistics.median(sizes):7.3%}", end="  ")
        print(f"p90 {p90:7.3%}  max {sizes[-1]:7.3%}")
        for case_id, error in ranked[::-1][:num_worst]:
            print(f"    {case_id:40s} {error:+.3%}")


def main() -> None:
    """Compare with the committed table, or with freshly traced random cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", type=int, default=0, help="trace this many new random cases")
    parser.add_argument("--seed", type=int, default=1, help="of the new random cases")
    parser.add_argument("--worst", type=int, default=0, help="name this many worst cases a column")
    arguments = parser.parse_args()
    rows = fresh_rows(arguments.fresh, arguments.seed) if arguments.fresh else table.read()
    report(errors(rows), arguments.worst)


if __name__ == "__main__":
    main()
