"""What each term of the step-time model is worth: `python -m benchmarks.ablation`.

Leaves out one term at a time, refits without each source and writes
planner/fidelity/data/ablation.json, which docs/accuracy.md shows. Some minutes; run it after
`python -m benchmarks.fit`.
"""

from __future__ import annotations

import sys

from planner.fidelity import ablation
from planner.fidelity.fit import time_rows
from planner.fidelity.leave_one_out import left_out_constants
from planner.fidelity.validate import gather


def main() -> None:
    """Measure, write, print."""
    rows = time_rows(gather().timed)
    found = ablation.worths(rows, left_out_constants(rows), progress=_progress)
    ablation.write(rows, found)
    print(f"{'term':48} {'mean of sources':>22} {'rows':>5} {'touched rows':>20}")
    for each in found:
        print(
            f"{each.name:48} {each.mean_with:10.2%} ->{each.mean_without:9.2%} {each.touched:5}"
            f" {_percent(each.touched_with)} -> {_percent(each.touched_without)}"
        )


def _progress(done: int, total: int) -> None:
    print(f"term {done + 1} of {total}", file=sys.stderr)


def _percent(value: float | None) -> str:
    return "        -" if value is None else f"{value:9.2%}"


if __name__ == "__main__":
    main()
