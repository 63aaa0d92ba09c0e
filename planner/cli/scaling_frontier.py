"""`forerun scaling frontier`: loss against model size at a budget, or best loss against budgets."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np

from planner.cli.amounts import FLOPS, amount, show_compute
from planner.cli.output import note, print_json, print_table, warn
from planner.cli.scaling_options import (
    add_budget,
    add_law,
    asks_for_money_or_days,
    conditions_of,
    law_of,
)
from planner.errors import PlannerError
from planner.quantities import read, show_count, show_percent
from planner.scaling.allocation import Optimum, optimum
from planner.scaling.allocations import allocation_names
from planner.scaling.frontier import BudgetPoint, SizePoint, frontier, size_curve
from planner.scaling.laws import choose_law


def configure(parser: argparse.ArgumentParser) -> None:
    add_budget(parser)
    parser.add_argument("--to", metavar="C", help="--flops up to this: best loss against compute")
    for name, about in (("usd", "dollars"), ("days", "days")):
        parser.add_argument(
            f"--{name}-range",
            nargs=2,
            metavar=("LOW", "HIGH"),
            help=f"best loss against {about}, from LOW to HIGH",
        )
    parser.add_argument("--points", metavar="K", default="13", help="rows to print (13)")
    add_law(parser)


def run(args: argparse.Namespace) -> int:
    if asks_for_money_or_days(args):
        from planner.cli.scaling_joined import run_frontier

        return run_frontier(args, points_of(args.points))
    conditions, named = conditions_of(args), law_of(args)
    if isinstance(named, str) and named in allocation_names():
        raise PlannerError("law", named, "splits compute but states no loss; choose another")
    law, points = choose_law(named, conditions), points_of(args.points)
    low, high = read(FLOPS, "--flops", args.flops), amount(FLOPS, "--to", args.to)
    best = optimum(flops=low, law=law, conditions=conditions)
    if high is None:
        sizes = size_curve(flops=low, law=law, points=points, conditions=conditions)
        return _answer(args, best, sizes, lambda: _show_sizes(low, sizes))
    if high <= low:
        raise PlannerError("--to", args.to, "must be above --flops")
    budgets = frontier(flops=np.geomspace(low, high, points), law=law, conditions=conditions)
    return _answer(args, best, budgets, lambda: _show_budgets(budgets))


def _answer(
    args: argparse.Namespace,
    best: Optimum,
    curve: Sequence[SizePoint] | Sequence[BudgetPoint],
    show: Callable[[], None],
) -> int:
    if args.json:
        print_json({"law": best.law, "optimum": best, "curve": curve, "warnings": best.warnings})
        return 0
    show()
    note(f"law {best.law}; 6 FLOP per parameter and token")
    for text in best.warnings:
        warn(text)
    return 0


def _show_sizes(flops: float, curve: Sequence[SizePoint]) -> None:
    rows = [
        [
            show_count(point.params),
            show_count(point.tokens),
            f"{point.tokens_per_param:.3g}",
            f"{point.loss:.4f}",
            "within 0.5 %" if point.in_band else "",
        ]
        for point in curve
    ]
    columns = ["params", "tokens", "tokens/param", "loss", "of the best"]
    print_table(f"Loss against size at {show_compute(flops)}", columns, rows)


def _show_budgets(curve: Sequence[BudgetPoint]) -> None:
    rows = [
        [
            show_compute(point.flops),
            show_count(point.params),
            show_count(point.tokens),
            f"{point.loss:.4f}",
            f"{point.low:.3f} to {point.high:.3f}",
            show_percent(point.gain_next_doubling),
        ]
        for point in curve
    ]
    columns = ["compute", "params", "tokens", "loss", "80 %", "gain of doubling"]
    print_table("Best loss against compute", columns, rows)


def points_of(text: str) -> int:
    """Rows of a curve."""
    if not (text.isascii() and text.isdigit() and 3 <= int(text) <= 1000):
        raise PlannerError("--points", text, "write a whole number from 3 to 1000")
    return int(text)
