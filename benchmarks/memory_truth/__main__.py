"""`python -m benchmarks.memory_truth`: trace every case and write the table again."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.memory_truth import grid, table


def main() -> None:
    """Write the table, or the rows whose id contains a text."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory_truth", description=__doc__)
    parser.add_argument("--only", default="", help="trace cases whose id contains this text")
    parser.add_argument("--out", type=Path, default=table.PATH, help="where the table goes")
    arguments = parser.parse_args()
    if arguments.only and arguments.out == table.PATH:
        parser.error("--only needs --out, so that the committed table stays whole")
    chosen = [case for case in grid.cases() if arguments.only in case.id]
    if not chosen:
        parser.error(f"--only {arguments.only!r}: no case has this in its id")
    table.write(arguments.out, chosen)


if __name__ == "__main__":
    main()
