"""`python -m benchmarks.host_overhead`: measure every style and write the result again."""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

from benchmarks.host_overhead import report
from benchmarks.host_overhead.styles import STYLES


def main() -> None:
    """Writes the result, or measures once and prints it as JSON."""
    import torch

    parser = argparse.ArgumentParser(prog=report.COMMAND, description=__doc__)
    parser.add_argument("--once", action="store_true", help="measure in this process and print")
    parser.add_argument("--out", type=Path, default=report.PATH, help="where the result goes")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # TorchScript and FSDP1 announce their end
    if arguments.once:
        print(json.dumps(report.measured(STYLES, report.ROUNDS)))
        return
    show(report.write(arguments.out))


def show(result: dict[str, Any]) -> None:
    """Prints the operations of every style."""
    print(f"{'style':28s} {'forward':>8s} {'backward':>8s} {'again':>8s}  spread")
    for name, row in result["styles"].items():
        cells = [row[f"{each}_ops"] for each in report.PASSES]
        spread = [row[f"{each}_spread"] for each in report.PASSES]
        numbers = " ".join(f"{'-' if each is None else round(each):>8}" for each in cells)
        worst = max(each for each in spread if each is not None)
        print(f"{name:28s} {numbers}  {worst:.0%}")


if __name__ == "__main__":
    main()
