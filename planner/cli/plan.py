"""`forerun plan`: one run, from a file and flags, to fit, time, cost, energy, loss and advice."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planner.cli.output import print_json
from planner.cli.progress import told_tracing
from planner.errors import PlannerError
from planner.planning.plan import planned
from planner.run import add_run_flags, run_from_args

if TYPE_CHECKING:
    from planner.planning.plan import Planned

HELP = "one run: fits, time, cost, energy, loss, intervals, advice"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--explain", action="store_true", help="print the formulas with the numbers put in"
    )
    parser.add_argument("--no-advice", action="store_true", help="leave out the advice")
    parser.add_argument(
        "--reported",
        metavar="RATE",
        help="tokens/s of all accelerators that somebody reports: is that possible?",
    )
    add_run_flags(parser)


def run(args: argparse.Namespace) -> int:
    if not vars(args).get("run_file") and not any(name.startswith("run.") for name in vars(args)):
        raise PlannerError("RUN.yaml", None, "name a run file or say the run by flags: see --help")
    asked = run_from_args(args)
    told_tracing(asked.model)
    made = planned(asked)
    if not args.no_advice:
        made = advised(made)
    answer = made.plan.to_json() | _extras(args, made)
    if args.json:
        print_json(answer)
    else:
        from planner.cli.plan_text import show

        show(made, answer)
    return 0


def advised(made: Planned) -> Planned:
    """The plan with its advice."""
    from planner.planning.advice import advice_of

    return replace(made, plan=replace(made.plan, advice=advice_of(made.outline)))


def _extras(args: argparse.Namespace, made: Planned) -> dict[str, Any]:
    """What was asked for beside the plan itself."""
    found: dict[str, Any] = {}
    if args.explain:
        from planner.planning.explain import explained

        found["explain"] = explained(made.outline)
    if args.reported is not None:
        from planner.planning.check import check_reported
        from planner.quantities import RATE, read

        rate = read(RATE, "--reported", args.reported)
        found["reported"] = check_reported(made.outline, rate)
    return found
