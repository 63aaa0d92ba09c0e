"""`forerun batch`: critical batch, what a batch costs, accumulation, learning rate, averaging."""

from __future__ import annotations

import argparse

from planner.cli.batch_parts import (
    accumulation_of,
    bound_of,
    critical_of,
    rates_of,
    run_of,
    table_of,
    window_of,
)
from planner.cli.batch_text import show
from planner.cli.output import print_json
from planner.errors import PlannerError

HELP = "critical batch, accumulation, learning rate"

SECTIONS = ("critical_batch", "batches", "accumulation", "learning_rate", "window", "rate_bound")


def configure(parser: argparse.ArgumentParser) -> None:
    for flag, metavar, text in (
        ("--params", "N", "parameters, where no model is named"),
        ("--tokens", "D", "training tokens that a small batch would need"),
        ("--seq-len", "TOKENS", "tokens per sequence"),
        ("--loss", "L", "loss at which the critical batch is wanted (forecast otherwise)"),
        ("--noise-scale", "TOKENS", "measured gradient noise scale, in tokens"),
        ("--measured-batch", "TOKENS", "critical batch measured on a shorter run, in tokens ..."),
        ("--measured-tokens", "D", "... of this many training tokens"),
        ("--count", "DEVICES", "data-parallel devices"),
        ("--micro-batch", "SEQUENCES", "sequences per device and micro-step"),
        ("--global-batch", "SEQUENCES", "sequences per optimizer step"),
        ("--accumulation", "STEPS", "micro-steps per optimizer step, instead of --global-batch"),
        ("--examples", "SEQUENCES", "sequences in one epoch"),
        ("--tokens-per-second", "RATE", "throughput at --global-batch, for wall times"),
        ("--learning-rate", "RATE", "a rate known to work ..."),
        ("--from-batch", "SEQUENCES", "... at this global batch; carried to --global-batch"),
        ("--optimizer", "NAME", "adamw (square-root rule) or sgd (linear rule); adamw"),
        ("--window-tokens", "N,N,..", "tokens of each micro-batch of one window ..."),
        ("--window-losses", "L,L,..", "... and its mean loss: how to average them"),
        ("--rounding", "EPS", "rounding bound of the format (2^-10 = 0.000977 for fp16) ..."),
        (
            "--smoothness",
            "L",
            "... smoothness of the loss (Lipschitz constant of the gradient) ...",
        ),
        ("--gradient-variance", "S2", "... variance of the gradient between batches ..."),
        ("--precision-variance", "D2", "... and what rounding adds: largest safe learning rate"),
    ):
        parser.add_argument(flag, metavar=metavar, help=text)
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help="preset, config.json or hf:ORG/NAME"
    )


def run(args: argparse.Namespace) -> int:
    size = run_of(args)
    critical = critical_of(args, size)
    answer = {
        "critical_batch": critical,
        "batches": table_of(args, size, critical),
        "accumulation": accumulation_of(args),
        "learning_rate": rates_of(args, size, critical),
        "window": window_of(args),
        "rate_bound": bound_of(args),
        "warnings": list(size.warnings),
    }
    if not any(answer[name] for name in SECTIONS):
        remedy = "give --params and --tokens, or --global-batch with --count, or --window-tokens"
        raise PlannerError("batch", None, remedy)
    if args.json:
        print_json(answer)
    else:
        show(answer)
    return 0
