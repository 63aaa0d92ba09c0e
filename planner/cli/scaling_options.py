"""Options that the scaling actions share: which law, under which conditions."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from planner.cli.amounts import NUMBER, PARAMS, amount, tokens
from planner.errors import PlannerError
from planner.quantities import TOKENS, read
from planner.scaling.bootstrap import FittedLaw, bootstrap
from planner.scaling.conventions import Counted, convert
from planner.scaling.fit import fit_runs
from planner.scaling.laws import CONVENTIONS, Law
from planner.scaling.runs import Runs, read_runs
from planner.text_file import lines_of

BUDGETS = ("flops", "usd", "days", "usd_range", "days_range")


def add_law(parser: argparse.ArgumentParser) -> None:
    """--law and the conditions that some laws take."""
    parser.add_argument("--law", metavar="NAME", help="a law by name (forerun scaling laws)")
    parser.add_argument("--runs", metavar="RUNS.csv", help="use a law fitted to these runs")
    parser.add_argument("--unique-tokens", metavar="U", help="tokens before the data repeats")
    parser.add_argument("--experts", metavar="E", help="experts, total over active (joint-moe2025)")
    parser.add_argument(
        "--granularity", metavar="G", help="splits of an expert (krajewski2024-moe)"
    )
    parser.add_argument("--weight-bits", metavar="BITS", help="bits of the weights (kumar2024)")


def add_budget(parser: argparse.ArgumentParser) -> None:
    """RUN.yaml with --usd or --days, or --flops."""
    parser.add_argument(
        "run_file",
        metavar="RUN.yaml",
        nargs="?",
        help="the machine, stack and precision whose money or days are spent",
    )
    parser.add_argument("--flops", metavar="C", help="budget of ideal compute, e.g. 1e22")
    parser.add_argument("--usd", metavar="USD", help="budget in dollars, e.g. 50k")
    parser.add_argument("--days", metavar="D", help="budget in days, e.g. 14 or 12h")


def asks_for_money_or_days(args: argparse.Namespace) -> bool:
    """Whether the budget is money or days; raises PlannerError unless exactly one is given."""
    given = [name for name in BUDGETS if getattr(args, name, None) is not None]
    if len(given) != 1:
        value = " and ".join(f"--{name.replace('_', '-')}" for name in given) or None
        raise PlannerError("budget", value, "give one of --flops, --usd and --days")
    if given[0] == "flops" and args.run_file is not None:
        remedy = "FLOP are the same on every machine: give --usd or --days, or leave it out"
        raise PlannerError("RUN.yaml", args.run_file, remedy)
    if given[0] != "flops" and args.run_file is None:
        raise PlannerError("RUN.yaml", None, "name the run whose machine the budget pays for")
    return given[0] != "flops"


def add_embeddings(parser: argparse.ArgumentParser) -> None:
    """--embedding-params, which turns a total count into one without embeddings."""
    parser.add_argument(
        "--embedding-params",
        metavar="N",
        help="of which embeddings: --params is then the total, converted to what the law counts",
    )


def law_of(args: argparse.Namespace) -> str | Law | None:
    """The law named or fitted; None where neither was given."""
    if args.runs is None:
        return None if args.law is None else str(args.law)
    return fitted_of(args.runs).as_law(name=Path(args.runs).name)


def fitted_of(path: str) -> FittedLaw:
    """The law of these runs with 200 bootstrap draws."""
    return bootstrap(fit_runs(runs_of(path)), count=200)


def runs_of(
    path: str, columns: Mapping[str, str] | None = None, where: Mapping[str, str] | None = None
) -> Runs:
    """The runs of a CSV file, with columns called otherwise and rows left out as `read_runs`."""
    return read_runs(lines_of(path, "runs"), columns=columns, where=where)


def conditions_of(args: argparse.Namespace) -> dict[str, float]:
    """The conditions that were given, by the names that laws use."""
    given = {
        "unique_tokens": tokens("--unique-tokens", args.unique_tokens),
        "experts": amount(NUMBER, "--experts", args.experts),
        "granularity": amount(NUMBER, "--granularity", args.granularity),
        "weight_bits": amount(NUMBER, "--weight-bits", args.weight_bits),
    }
    return {name: value for name, value in given.items() if value is not None}


def params_of(args: argparse.Namespace, law: Law) -> Counted:
    """--params as the law counts them; with --embedding-params, converted from a total."""
    params = read(PARAMS, "--params", args.params)
    embeddings = amount(TOKENS, "--embedding-params", args.embedding_params)
    if embeddings is None:
        return Counted(params=params, counts=law.counts)
    return convert(params, counts=law.counts, embedding_params=embeddings)


def counts_phrase(counts: str) -> str:
    """What N means, in words."""
    return CONVENTIONS[counts]
