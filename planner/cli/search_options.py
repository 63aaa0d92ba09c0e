"""Options that `forerun search` and `forerun compare` share."""

from __future__ import annotations

import argparse
from dataclasses import replace

from planner.errors import PlannerError
from planner.quantities import COUNT, read_whole
from planner.search.points import OBJECTIVES
from planner.search.restrictions import Restrictions, restrictions

WEIGHED = ("time", "cost", "energy")


def add_aim(
    parser: argparse.ArgumentParser, *, default: str | None = "time", usual: str = "time"
) -> None:
    """`usual` says in words what the default is."""
    parser.add_argument(
        "--by", default=default, metavar="WORD", help=f"best by {' | '.join(OBJECTIVES)} ({usual})"
    )
    parser.add_argument(
        "--weights",
        metavar="NAME=W,..",
        help="of --by value, as time=1,cost=2 (time=1,cost=1)",
    )


def add_restrictions(parser: argparse.ArgumentParser) -> None:
    for flag, metavar, text in (
        (
            "--fix",
            "NAME[=VALUE]",
            "keep a value, or what the run says: --fix tp=8 --fix precision",
        ),
        ("--forbid", "NAME=VALUE,..", "leave values out: --forbid precision=fp8"),
        ("--bound", "NAME=LOW..HIGH", "keep a number between bounds: --bound tp=1..8"),
        (
            "--try",
            "NAME=VALUE,..",
            "try these, or all, for the usual ones: --try sharding=all",
        ),
    ):
        parser.add_argument(flag, action="append", default=[], metavar=metavar, help=text)
    parser.add_argument("--max-devices", metavar="N", help="most accelerators there are")


def restrictions_of(args: argparse.Namespace) -> Restrictions:
    """What the flags say. Raises PlannerError."""
    made = restrictions(fix=args.fix, forbid=args.forbid, bound=args.bound, tries=vars(args)["try"])
    if args.max_devices is None:
        return made
    most = read_whole(COUNT, "--max-devices", args.max_devices)
    low, high = made.bounds.get("count", (None, None))
    if low is not None and low > most:
        remedy = f"is below --bound count={low:g}..: keep one of the two"
        raise PlannerError("--max-devices", most, remedy)
    bounds = {**made.bounds, "count": (low, most if high is None else min(most, high))}
    return replace(made, bounds=bounds)


def weights_of(args: argparse.Namespace) -> dict[str, float] | None:
    """Weights of the value, None where none are given."""
    if args.weights is None:
        return None
    if args.by not in ("value", None):
        raise PlannerError("--weights", args.weights, "needs --by value")
    found: dict[str, float] = {}
    for item in args.weights.split(","):
        name, given, text = item.partition("=")
        name = name.strip().lower()
        if name not in WEIGHED or not given or name in found:
            known = ", ".join(WEIGHED)
            raise PlannerError("--weights", args.weights, f"write NAME=WEIGHT of {known}")
        found[name] = _weight(args.weights, text)
    return found


def _weight(whole: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 <= value < float("inf"):
        raise PlannerError("--weights", whole, f"{text!r}: write a number of 0 or more")
    return value
