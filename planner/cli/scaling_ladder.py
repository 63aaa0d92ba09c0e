"""`forerun scaling ladder`: the small runs that tell most about a large one."""

from __future__ import annotations

import argparse

from planner.cli.amounts import FLOPS, PARAMS, show_compute
from planner.cli.output import note, print_json, print_table
from planner.cli.scaling_options import runs_of
from planner.quantities import TOKENS, read, show_count, show_percent
from planner.scaling.fit import fit_runs
from planner.scaling.ladder import Ladder, design_ladder


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--flops", metavar="C", required=True, help="budget of all small runs")
    parser.add_argument("--params", metavar="N", required=True, help="of the large run")
    parser.add_argument("--tokens", metavar="D", required=True, help="of the large run")
    parser.add_argument("--law", metavar="NAME", help="law to plan by (besiroglu2024)")
    parser.add_argument("--runs", metavar="RUNS.csv", help="plan by a law fitted to these runs")


def run(args: argparse.Namespace) -> int:
    law = args.law if args.runs is None else fit_runs(runs_of(args.runs)).as_law()
    plan = design_ladder(
        flops=read(FLOPS, "--flops", args.flops),
        params=read(PARAMS, "--params", args.params),
        tokens=read(TOKENS, "--tokens", args.tokens),
        law=law,
    )
    if args.json:
        print_json(plan)
        return 0
    _show(plan)
    return 0


def _show(plan: Ladder) -> None:
    rows = [
        [
            show_count(run.params),
            show_count(run.tokens),
            f"{run.tokens / run.params:.3g}",
            run.seeds,
            show_compute(run.flops),
            show_percent(run.flops / plan.flops),
        ]
        for run in plan.runs
    ]
    columns = ["params", "tokens", "tokens/param", "seeds", "compute", "share"]
    print_table(f"Ladder of {show_compute(plan.flops)}", columns, rows)
    what = f"{show_count(plan.target_params)} on {show_count(plan.target_tokens, 'tokens')}"
    print(f"\n{what}: loss {plan.loss:.2f} under {plan.law}")
    print(f"80 % interval now          {plan.low_before:.2f} to {plan.high_before:.2f}")
    print(f"expected after the ladder  ±{(plan.high - plan.low) / 2:.2f}, wherever it centres")
    note("train every run to the end of its own learning-rate schedule, with one recipe")
