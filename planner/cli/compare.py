"""`forerun compare`: accelerators ranked for a run, and why one loses."""

from __future__ import annotations

import argparse

from planner.cli.output import print_json
from planner.cli.progress import told_tracing
from planner.cli.search_options import add_aim, add_restrictions, restrictions_of, weights_of
from planner.errors import PlannerError
from planner.quantities import BYTES, COUNT, read, read_whole
from planner.run import Run, add_run_flags, run_from_args
from planner.search.compare import Filters, compare

HELP = "rank accelerators for a run by time, cost, energy or value"
USUAL = (
    "one number of devices: time; several: value, which weighs time and cost alike, "
    "but cost under a deadline alone and time under a budget alone"
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--skus", metavar="A,B,..", help="accelerators to rank (all)")
    parser.add_argument(
        "--counts", metavar="N,N,..", help="numbers of each (the run's own; else 1,2,4,..,1024)"
    )
    parser.add_argument(
        "--owned", metavar="A,B,..", help="rank only these, which are owned: no price is needed"
    )
    parser.add_argument("--min-memory", metavar="BYTES", help="of one accelerator, such as 40GiB")
    parser.add_argument("--spot", action="store_true", help="spot prices; without one: left out")
    parser.add_argument("--top", metavar="N", default="20", help="lines of the table (20)")
    parser.add_argument("--all", action="store_true", help="every line of every list")
    add_aim(parser, default=None, usual=USUAL)
    add_restrictions(parser)
    add_run_flags(parser)


def run(args: argparse.Namespace) -> int:
    top = read_whole(COUNT, "--top", args.top)
    answer = compare(
        _run(args),
        filters=_filters(args),
        counts=_counts(args.counts),
        by=args.by,
        weights=weights_of(args),
        restrictions=restrictions_of(args),
    )
    if args.json:
        print_json(answer)
    else:
        from planner.cli.compare_text import show

        show(answer, None if args.all else top)
    return 0


def _run(args: argparse.Namespace) -> Run:
    made = run_from_args(args)
    told_tracing(made.model)
    if args.spot:
        made = made.changed({"price.mode": "spot"})
    return made


def _filters(args: argparse.Namespace) -> Filters:
    if args.skus is not None and args.owned is not None:
        raise PlannerError("--owned", args.owned, "conflicts with --skus: keep one of the two")
    flag, names = ("--owned", args.owned) if args.owned is not None else ("--skus", args.skus)
    memory = args.min_memory
    return Filters(
        skus=() if names is None else _skus(flag, names),
        owned=args.owned is not None,
        min_memory=None if memory is None else read(BYTES, "--min-memory", memory),
    )


def _skus(flag: str, text: str) -> tuple[str, ...]:
    """Ids of the named accelerators; a family's name stands for all of its variants."""
    import hardware_db

    found: list[str] = []
    for name in _items(flag, text):
        try:
            found.append(hardware_db.resolve(name).sku_id)
        except hardware_db.AmbiguousName as family:
            found += family.candidates
        except hardware_db.HardwareError as error:
            raise PlannerError(flag, name, error.remedy) from None
    return tuple(dict.fromkeys(found))


def _counts(text: str | None) -> list[int] | None:
    if text is None:
        return None
    numbers = [read_whole(COUNT, "--counts", item) for item in _items("--counts", text)]
    return sorted(dict.fromkeys(numbers))


def _items(flag: str, text: str) -> list[str]:
    items = [item.strip() for item in text.split(",") if item.strip()]
    if not items:
        raise PlannerError(flag, text, "write one or more, with commas between them")
    return items
