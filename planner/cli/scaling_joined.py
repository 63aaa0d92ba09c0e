"""`forerun scaling optimum|frontier RUN.yaml`: budgets of money or days on a real machine."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from planner.cli.amounts import LOSS, PARAMS, amount, tokens
from planner.cli.output import note, print_json, print_table, warn
from planner.cli.scaling_options import conditions_of, counts_phrase, law_of
from planner.errors import PlannerError
from planner.planning.joined.answer import joined_answer
from planner.planning.joined.best import Best, best_of
from planner.planning.joined.frontier import FrontierPoint, joined_frontier
from planner.planning.joined.paces import DAY, Budget, Paces, paces, settings_words
from planner.planning.joined.spent import Spent
from planner.planning.joined.wishes import Wishes
from planner.quantities import (
    DAYS,
    USD,
    Kind,
    read,
    show_bytes,
    show_count,
    show_duration,
    show_interval,
    show_percent,
    show_rate,
    show_usd,
)
from planner.run import Run
from planner.scaling.allocation import BAND


def run_optimum(args: argparse.Namespace) -> int:
    """Print the best use of a budget."""
    table, best = _joined(args)
    answer = joined_answer(table, best, _wishes(args))
    if args.json:
        print_json(answer)
        return 0
    _show(table, best, answer)
    _remarks(table, best.warnings)
    return 0


def run_frontier(args: argparse.Namespace, points: int) -> int:
    """Print loss against size at one budget, or against a range of budgets."""
    if args.to is not None:
        raise PlannerError("--to", args.to, "goes with --flops; say --usd-range or --days-range")
    if args.usd_range is None and args.days_range is None:
        table, best = _joined(args)
        if args.json:
            print_json(joined_answer(table, best, Wishes()))
            return 0
        _show_sizes(table, best)
        _remarks(table, best.warnings)
        return 0
    low, high = _range(args)
    table = _paces(args, low, high)
    curve = joined_frontier(table, _between(low, high, points))
    if args.json:
        print_json({"law": table.law.name, "machine": table.machine, "curve": curve})
        return 0
    _show_curve(table, curve)
    _remarks(table, table.warnings)
    return 0


def _joined(args: argparse.Namespace) -> tuple[Paces, Best]:
    budget = (
        Budget(usd=read(USD, "--usd", args.usd))
        if args.usd is not None
        else Budget(seconds=read(DAYS, "--days", args.days) * DAY)
    )
    table = _paces(args, budget, budget)
    return table, best_of(table, budget)


def _paces(args: argparse.Namespace, low: Budget, high: Budget) -> Paces:
    run = Run.from_yaml(args.run_file)
    return paces(run, low, high, law=law_of(args), conditions=conditions_of(args))


def _range(args: argparse.Namespace) -> tuple[Budget, Budget]:
    name, kind = ("usd", USD) if args.usd_range is not None else ("days", DAYS)
    low, high = (_end(kind, name, text) for text in getattr(args, f"{name}_range"))
    if not low < high:
        raise PlannerError(f"--{name}-range", f"{low:g} {high:g}", "write the smaller first")
    if name == "usd":
        return Budget(usd=low), Budget(usd=high)
    return Budget(seconds=low * DAY), Budget(seconds=high * DAY)


def _end(kind: Kind, name: str, text: str) -> float:
    return read(kind, f"--{name}-range", text)


def _between(low: Budget, high: Budget, points: int) -> list[Budget]:
    if low.usd is not None and high.usd is not None:
        return [Budget(usd=float(usd)) for usd in np.geomspace(low.usd, high.usd, points)]
    assert low.seconds is not None
    assert high.seconds is not None
    seconds = np.geomspace(low.seconds, high.seconds, points)
    return [Budget(seconds=float(each)) for each in seconds]


def _wishes(args: argparse.Namespace) -> Wishes:
    return Wishes(
        params=amount(PARAMS, "--params", args.params),
        tokens=tokens("--tokens", args.tokens),
        target_loss=amount(LOSS, "--target-loss", args.target_loss),
        inference_tokens=tokens("--inference-tokens", args.inference_tokens),
    )


def _show(table: Paces, best: Best, answer: dict[str, Any]) -> None:
    ends = " to ".join(show_count(end) for end in best.band)
    near = best.nearest
    rows: list[list[object]] = [
        ["parameters", show_interval(show_count, best.params, best.params_low, best.params_high)],
        ["tokens", show_interval(show_count, best.tokens, best.tokens_low, best.tokens_high)],
        ["tokens per parameter", f"{best.tokens_per_param:.3g}"],
        ["loss", f"{best.loss:.3f} ({best.loss_low:.3f} to {best.loss_high:.3f})"],
        [f"within {show_percent(BAND)} of the best loss", f"{ends} parameters"],
        ["nearest size planned", f"{near.layers} layers of {near.hidden}: {_settings(near)}"],
        ["speed", f"{show_rate(best.tokens_per_second, 'tokens')}, MFU {show_percent(near.mfu)}"],
        ["gain of doubling the budget", show_percent(best.gain_next_doubling)],
        ["law", f"{table.law.name}; N counts {counts_phrase(table.law.counts)}"],
    ]
    if best.limit:
        rows.append(["cut off by", best.limit])
    print_table(f"Best use of {_money(best.seconds, best.usd)} on {table.machine}", _TWO, rows)
    print()
    _show_sizes(table, best)
    for name, title in _PARTS:
        part = answer[name]
        if part is not None:
            print()
            print_table(title, _TWO, [_line(*item) for item in part.items() if item[1] is not None])


_TWO = ["what", "value"]
_PARTS = (
    ("fixed", "The plan that was fixed"),
    ("target", "The loss that was asked for"),
    ("serving", "Trained longer because it will be served (same loss)"),
)


def _settings(pace: Any) -> str:
    return settings_words(pace.settings)


def _money(seconds: float, usd: float | None) -> str:
    days = show_duration(seconds)
    return days if usd is None else f"{show_usd(usd)} or {days}"


def _show_sizes(table: Paces, best: Best) -> None:
    """The whole curve, since the optimum is flat; the stated run last."""
    rows = [_size(row) for row in best.sizes]
    rows.append([f"{_size(best.own)[0]} as stated", *_size(best.own)[1:]])
    columns = ["params", "tokens", "loss", "MFU", "settings", ""]
    title = f"Loss against size for {_money(best.seconds, best.usd)} on {table.machine}"
    print_table(title, columns, rows)


def _size(row: Spent) -> list[object]:
    pace = row.pace
    if row.loss is None:
        short = f"{show_bytes(pace.peak_bytes)} of {show_bytes(pace.capacity_bytes)}"
        remark = "buys nothing" if pace.fits else f"does not fit: {short}"
        return [show_count(pace.params), None, None, None, _settings(pace), remark]
    doubt = "may not fit" if pace.fit_probability < 0.9 else ""
    words = ["within 0.5 %" if row.in_band else "", doubt, "the run's model" if pace.own else ""]
    remark = ", ".join(word for word in words if word)
    tokens_shown = show_count(row.tokens)
    cells = [show_count(pace.params), tokens_shown, f"{row.loss:.4f}", show_percent(pace.mfu)]
    return [*cells, _settings(pace), remark]


def _show_curve(table: Paces, curve: Sequence[FrontierPoint]) -> None:
    rows = [
        [
            None if point.usd is None else show_usd(point.usd),
            show_duration(point.seconds),
            show_count(point.params),
            show_count(point.tokens),
            f"{point.loss:.4f}",
            f"{point.low:.3f} to {point.high:.3f}",
            show_percent(point.gain_next_doubling),
            point.limit,
        ]
        for point in curve
    ]
    columns = ["cost", "time", "params", "tokens", "loss", "80 %", "gain of doubling", "cut off by"]
    print_table(f"Best loss against money on {table.machine}", columns, rows)


def _loss(value: float) -> str:
    return f"{value:.4f}"


def _ratio(value: float) -> str:
    return f"{value:.3g}"


_SHOWN: dict[str, tuple[str, Callable[[float], str]]] = {
    "params": ("parameters", show_count),
    "tokens": ("tokens", show_count),
    "tokens_per_param": ("tokens per parameter", _ratio),
    "loss": ("loss", _loss),
    "loss_above_optimum": ("loss above the optimum", _loss),
    "seconds": ("time", show_duration),
    "usd": ("cost", show_usd),
    "left_seconds": ("left of the budget", show_duration),
    "left_usd": ("left of the budget", show_usd),
    "least_for_this_loss_seconds": ("least time for this loss", show_duration),
    "least_for_this_loss_usd": ("least cost for this loss", show_usd),
    "wasted_share": ("wasted", show_percent),
    "inference_tokens": ("tokens served", show_count),
    "saving_of_flops_share": ("saved over training and serving, of FLOP", show_percent),
}


def _line(name: str, value: float) -> list[object]:
    label, show = _SHOWN[name]
    return [label, show(value)]


def _remarks(table: Paces, warnings: Sequence[str]) -> None:
    note(f"price: {table.price}")
    note("other sizes keep the model's proportions; each has the fastest layout that fits it")
    for text in warnings:
        warn(text)
