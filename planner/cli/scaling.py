"""`forerun scaling`: fit laws to runs, split a budget, forecast a loss, plan small runs."""

from __future__ import annotations

import argparse
from importlib import import_module

HELP = "scaling laws: fit to runs, allocate a budget, predict a loss"

ACTIONS = (
    ("fit", "fit a law to a CSV of runs, with intervals and outliers"),
    ("optimum", "split a compute budget between parameters and tokens"),
    ("loss", "forecast the final loss of a model on so many tokens"),
    ("frontier", "loss against model size at a budget, or against the budget"),
    ("ladder", "which small runs to make before a large one"),
    ("diversity", "how many tokens of a corpus are new, judged by a sample"),
    ("laws", "the laws by name: source, range, which parameters they count"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, about in ACTIONS:
        action = actions.add_parser(name, help=about, description=f"{about.capitalize()}.")
        import_module(f"planner.cli.scaling_{name}").configure(action)


def run(args: argparse.Namespace) -> int:
    return int(import_module(f"planner.cli.scaling_{args.action}").run(args))
