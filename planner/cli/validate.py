"""`forerun validate`: our own error against published measurements."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.cli.output import note, print_json
from planner.cli.progress import Progress, progress
from planner.errors import PlannerError

if TYPE_CHECKING:
    from planner.fidelity.validate import Measurements

HELP = "our own error against published measurements"

_FITS = 24  # constants are refitted about so often: once without each source, each accelerator


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "cases",
        metavar="CASES.csv",
        nargs="?",
        help="measured runs to predict with the shipped constants; the columns are those of the"
        " shipped table. Without a file: the shipped table, with constants refitted without"
        " each row's source",
    )
    parser.add_argument(
        "--markdown",
        metavar="FILE",
        help="write the report of the shipped table, with its figure beside it",
    )
    parser.add_argument("--rows", action="store_true", help="print every row, worst first")


def run(args: argparse.Namespace) -> int:
    if args.markdown and args.cases:
        remedy = "the report is of the shipped table: leave out the cases file"
        raise PlannerError("--markdown", args.markdown, remedy)
    if args.markdown:
        _check_place(Path(args.markdown))
    from planner.fidelity.validate import answer, gather, measure

    evidence = gather(args.cases)
    with progress("refitting", _FITS) as bar:
        found = measure(evidence, _steps(bar))
        if args.markdown:
            _write_report(found, Path(args.markdown), bar)
    _show(args, answer(found))
    return 0


def _steps(bar: Progress) -> Any:
    """Turns `done of total` into steps of the bar; constants already stored need none."""

    def advance(done: int, total: int) -> None:
        bar.advance(doing=f"fit {done + 1} of {total}")

    return advance


def _check_place(path: Path) -> None:
    """Before a minute of work, whether its result can be written."""
    if path.is_dir() or not path.parent.is_dir():
        remedy = "name a file in a folder that exists, as docs/accuracy.md"
        raise PlannerError("--markdown", str(path), remedy)


def _write_report(found: Measurements, path: Path, bar: Progress) -> None:
    from planner.fidelity.report import write_report

    for written in write_report(found, path, _steps(bar)):
        note(f"wrote {written}")


def _show(args: argparse.Namespace, found: dict[str, Any]) -> None:
    if args.json:
        print_json(found)
        return
    from planner.cli.validate_text import show

    show(found, rows=args.rows)
