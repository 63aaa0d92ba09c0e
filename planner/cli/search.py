"""`forerun search`: the best configuration of a run under its limits, and the front."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from planner.cli.output import note, print_json
from planner.cli.progress import progress
from planner.cli.search_options import add_aim, add_restrictions, restrictions_of, weights_of
from planner.errors import PlannerError
from planner.run import add_run_flags, run_from_args
from planner.search.points import Aim
from planner.search.restrictions import Restrictions
from planner.search.space import Space, space

HELP = "the best configuration under memory, deadline and budget, and the Pareto front"


def configure(parser: argparse.ArgumentParser) -> None:
    add_aim(parser)
    add_restrictions(parser)
    parser.add_argument(
        "--free-batch",
        action="store_true",
        help="also other global batches, up to the critical one, at equal final loss",
    )
    parser.add_argument("--save", metavar="FILE", help="write the best as a run file")
    add_run_flags(parser)


def run(args: argparse.Namespace) -> int:
    limits = _limits(args)
    aim = _aim(args)
    found = space(run_from_args(args), limits)
    answer = _exhaustive(found, aim)
    _save(args.save, answer)
    if args.json:
        print_json(answer)
    else:
        from planner.cli.search_text import show

        show(answer)
    return 0


def _limits(args: argparse.Namespace) -> Restrictions:
    if args.free_batch and not any(word.startswith("global") for word in args.bound):
        args.bound = [*args.bound, "global_batch=1.."]
    return restrictions_of(args)


def _aim(args: argparse.Namespace) -> Aim:
    weights = weights_of(args)
    return Aim(by=args.by) if weights is None else Aim(by=args.by, weights=weights)


def _exhaustive(found: Space, aim: Aim) -> dict[str, Any]:
    from planner.search.exhaustive import searched

    with progress("candidates", found.size) as bar:
        return searched(found, aim, progress=bar.advance).to_json()


def _save(path: str | None, answer: dict[str, Any]) -> None:
    if path is None:
        return
    if answer["run_file"] is None:
        note(f"nothing fits within the limits: {path} is not written")
        return
    import yaml

    try:
        Path(path).write_text(yaml.safe_dump(answer["run_file"], sort_keys=False), "utf-8")
    except OSError as error:
        raise PlannerError("--save", path, f"cannot be written: {error.strerror}") from None
    note(f"the best is in {path}")
