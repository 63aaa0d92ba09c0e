"""`forerun scaling loss`: the final loss of a run, its interval, and what doubling would bring."""

from __future__ import annotations

import argparse
from typing import Any

from planner.cli.amounts import PARAMS, show_compute
from planner.cli.output import note, print_json, print_table, warn
from planner.cli.scaling_options import (
    add_embeddings,
    add_law,
    conditions_of,
    counts_phrase,
    law_of,
    params_of,
)
from planner.errors import PlannerError
from planner.quantities import FRACTION, TOKENS, read, show_count, show_percent
from planner.scaling.allocations import allocation_names
from planner.scaling.forecast import LossForecast, predict_loss
from planner.scaling.laws import choose_law
from planner.scaling.marginal import THRESHOLD, marginal_gain
from planner.scaling.task_error import task_error


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--params", metavar="N", required=True, help=PARAMS.example)
    parser.add_argument("--tokens", metavar="D", required=True, help=TOKENS.example)
    parser.add_argument(
        "--threshold",
        metavar="SHARE",
        default=str(THRESHOLD),
        help="gain of a doubling under which more data is not worth it (0.015)",
    )
    add_embeddings(parser)
    add_law(parser)


def run(args: argparse.Namespace) -> int:
    answer = _answer(args)
    if args.json:
        print_json(answer)
        return 0
    rows = [
        ["loss", f"{answer['loss']:.3f} nats per token"],
        ["80 % interval", f"{answer['low']:.3f} to {answer['high']:.3f}"],
        ["law", answer["law"]],
        ["N counts", answer["counts"]],
        ["tokens per parameter", f"{answer['tokens_per_param']:.3g}"],
        ["training compute (6ND)", show_compute(answer["flops"])],
        ["gain of the last doubling of data", show_percent(answer["gain_last_doubling"])],
        ["gain of the next doubling", show_percent(answer["gain_next_doubling"])],
        *_task_row(answer["task_error"]),
        [f"next doubling below {show_percent(answer['threshold'])} from", _stop(answer)],
    ]
    print_table("Forecast", ["what", "value"], rows)
    note(answer["reason"])
    for text in answer["warnings"]:
        warn(text)
    return 0


def _answer(args: argparse.Namespace) -> dict[str, Any]:
    law, conditions = law_of(args), conditions_of(args)
    if isinstance(law, str) and law in allocation_names():
        raise PlannerError("law", law, "splits compute but states no loss: see scaling optimum")
    tokens = read(TOKENS, "--tokens", args.tokens)
    if conditions.get("unique_tokens", 0.0) >= tokens:
        del conditions["unique_tokens"]  # nothing repeats
    chosen = choose_law(law, conditions)
    counted = params_of(args, chosen)
    forecast = predict_loss(params=counted.params, tokens=tokens, law=chosen, **conditions)
    marginal = marginal_gain(
        params=counted.params,
        tokens=tokens,
        threshold=_share(args.threshold),
        law=chosen,
        conditions=conditions,
    )
    return {
        "loss": forecast.value,
        "low": forecast.low,
        "high": forecast.high,
        "law": forecast.law,
        "params": counted.params,
        "counts": counts_phrase(counted.counts),
        "tokens": tokens,
        "tokens_per_param": tokens / counted.params,
        "flops": 6 * counted.params * tokens,
        "gain_last_doubling": marginal.last_doubling,
        "gain_next_doubling": marginal.next_doubling,
        "threshold": marginal.threshold,
        "stop_tokens": marginal.stop_tokens,
        "stop_tokens_seen": marginal.stop_tokens_seen,
        "task_error": _task_error(forecast),
        "reason": forecast.reason,
        "beyond_fit": forecast.reach and forecast.reach.to_json(),
        "warnings": [*counted.warnings, *forecast.warnings],
    }


def _task_error(forecast: LossForecast) -> dict[str, Any] | None:
    """The error on tasks at the loss and at the ends of its interval; None where none is known."""
    known = task_error(forecast.law)
    if known is None or forecast.value is None:
        return None
    assert forecast.low is not None
    assert forecast.high is not None
    return {
        "value": known.at(forecast.value),
        "low": known.at(forecast.low),
        "high": known.at(forecast.high),
        "tasks": known.tasks,
        "source": known.source,
        "trap": known.trap,
    }


def _task_row(error: dict[str, Any] | None) -> list[list[str]]:
    if error is None:
        return []
    value, low, high = (show_percent(error[end]) for end in ("value", "low", "high"))
    shown = f"{value} ({low} to {high})"
    return [[error["tasks"], f"{shown}; {error['trap']}"]]


def _stop(answer: dict[str, Any]) -> str:
    tokens, params = answer["stop_tokens"], answer["params"]
    return f"{show_count(tokens, 'tokens')} ({tokens / params:.3g} per parameter)"


def _share(text: str) -> float:
    return read(FRACTION, "--threshold", text)
