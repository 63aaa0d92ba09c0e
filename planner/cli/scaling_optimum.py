"""`forerun scaling optimum`: the best split of a budget, and what a given plan wastes."""

from __future__ import annotations

import argparse
from typing import Any

from planner.cli.amounts import FLOPS, LOSS, PARAMS, amount, show_compute, tokens
from planner.cli.output import note, print_json, print_table, warn
from planner.cli.scaling_options import (
    add_budget,
    add_law,
    asks_for_money_or_days,
    conditions_of,
    counts_phrase,
    law_of,
)
from planner.errors import PlannerError
from planner.quantities import read, show_count, show_interval, show_percent, show_span
from planner.scaling.allocation import (
    BAND,
    Optimum,
    at_fixed_params,
    at_fixed_tokens,
    flops_for_loss,
    optimum,
)
from planner.scaling.allocations import allocation_names, split
from planner.scaling.laws import Law, choose_law
from planner.scaling.marginal import marginal_gain
from planner.scaling.reach import reach_of
from planner.scaling.serving import served_optimum


def configure(parser: argparse.ArgumentParser) -> None:
    add_budget(parser)
    parser.add_argument("--params", metavar="N", help="a fixed model: what its budget is worth")
    parser.add_argument("--tokens", metavar="D", help="fixed data: what its budget is worth")
    parser.add_argument("--target-loss", metavar="L", help="what the budget leaves for this loss")
    parser.add_argument(
        "--inference-tokens", metavar="T", help="tokens to be served: smaller model, same loss"
    )
    add_law(parser)


def run(args: argparse.Namespace) -> int:
    if asks_for_money_or_days(args):
        from planner.cli.scaling_joined import run_optimum

        return run_optimum(args)
    answer = _answer(args)
    if args.json:
        print_json(answer)
    else:
        _show(answer)
    return 0


def _answer(args: argparse.Namespace) -> dict[str, Any]:
    flops, conditions = read(FLOPS, "--flops", args.flops), conditions_of(args)
    named = law_of(args)
    if isinstance(named, str) and named in allocation_names():
        return _allocation(args, named, flops)
    law = choose_law(named, conditions)
    best = optimum(flops=flops, law=law, conditions=conditions)
    assert best.loss is not None
    marginal = marginal_gain(params=best.params, tokens=best.tokens, law=law, conditions=conditions)
    fixed, serving = _fixed(args, best, law, conditions), _serving(args, best, law, conditions)
    named_parts = {"the fixed plan": fixed, "the model to be served": serving}
    return _base(best, law.counts) | {
        "gain_last_doubling": marginal.last_doubling,
        "gain_next_doubling": marginal.next_doubling,
        "gain_next_doubling_of_compute": _compute_gain(best, law, conditions),
        "fixed": fixed,
        "target": _target(args, flops, law, conditions),
        "serving": serving,
        "warnings": [*best.warnings, *_parts_beyond(named_parts, law, conditions)],
    }


def _parts_beyond(
    parts: dict[str, dict[str, Any] | None], law: Law, conditions: dict[str, float]
) -> list[str]:
    """Which of the other plans leave the range of the law's fit."""
    return [
        f"{name} is {reach.warning}"
        for name, part in parts.items()
        if part is not None
        and (reach := reach_of(law, part["params"], part["tokens"], conditions)) is not None
    ]


def _base(best: Optimum, counts: str) -> dict[str, Any]:
    return {
        "params": best.params,
        "tokens": best.tokens,
        "tokens_per_param": best.tokens_per_param,
        "loss": best.loss,
        "loss_low": best.loss_low,
        "loss_high": best.loss_high,
        "params_low": best.params_low,
        "params_high": best.params_high,
        "tokens_low": best.tokens_low,
        "tokens_high": best.tokens_high,
        "band": None if best.band_low is None else [best.band_low, best.band_high],
        "flops": best.flops,
        "law": best.law,
        "counts": counts_phrase(counts),
        "beyond_fit": best.reach and best.reach.to_json(),
        "warnings": list(best.warnings),
    }


def _allocation(args: argparse.Namespace, name: str, flops: float) -> dict[str, Any]:
    for option in ("params", "tokens", "target_loss", "inference_tokens"):
        if getattr(args, option) is not None:
            raise PlannerError(
                "law", name, f"states no loss, which --{option.replace('_', '-')} needs"
            )
    conditions_given = conditions_of(args)
    if conditions_given:
        raise PlannerError("law", name, f"does not know {', '.join(conditions_given)}")
    return _base(optimum(flops=flops, law=name), split(name).counts)


def _compute_gain(best: Optimum, law: Law, conditions: dict[str, float]) -> float:
    """Share by which the best loss falls when compute doubles and is split anew."""
    assert best.loss is not None
    doubled = optimum(flops=2 * best.flops, law=law, conditions=conditions)
    assert doubled.loss is not None
    return 1 - doubled.loss / best.loss


def _fixed(
    args: argparse.Namespace, best: Optimum, law: Law, conditions: dict[str, float]
) -> dict[str, Any] | None:
    """The plan that fixes the model, the data or both, against the optimum."""
    params = amount(PARAMS, "--params", args.params)
    data = tokens("--tokens", args.tokens)
    if params is None and data is None:
        return None
    if params is None:
        assert data is not None
        params = at_fixed_tokens(tokens=data, flops=best.flops)
    elif data is None:
        data = at_fixed_params(params=params, flops=best.flops)
    loss = float(law.loss(params, data, **conditions))
    spent, least = 6 * params * data, flops_for_loss(loss=loss, law=law, conditions=conditions)
    assert best.loss is not None
    return {
        "params": params,
        "tokens": data,
        "loss": loss,
        "loss_above_optimum": loss - best.loss,
        "flops": spent,
        "budget_left": best.flops - spent,  # negative: missing
        "least_flops_for_this_loss": least,
        "wasted_share": 1 - least / spent,
    }


def _target(
    args: argparse.Namespace, flops: float, law: Law, conditions: dict[str, float]
) -> dict[str, Any] | None:
    loss = amount(LOSS, "--target-loss", args.target_loss)
    if loss is None:
        return None
    needed = flops_for_loss(loss=loss, law=law, conditions=conditions)
    return {"loss": loss, "flops_needed": needed, "budget_left": flops - needed}


def _serving(
    args: argparse.Namespace, best: Optimum, law: Law, conditions: dict[str, float]
) -> dict[str, Any] | None:
    served = tokens("--inference-tokens", args.inference_tokens)
    if served is None:
        return None
    assert best.loss is not None
    found = served_optimum(loss=best.loss, inference_tokens=served, law=law, conditions=conditions)
    return {
        "params": found.params,
        "tokens": found.tokens,
        "tokens_per_param": found.tokens / found.params,
        "loss": found.loss,
        "inference_tokens": served,
        "training_flops": found.training_flops,
        "inference_flops": found.inference_flops,
        "total_flops": found.total_flops,
        "saving": found.saving,
        "training_budget_missing": max(0.0, found.training_flops - best.flops),
    }


def _show(answer: dict[str, Any]) -> None:
    number = {name: value for name, value in answer.items() if isinstance(value, float)}
    rows: list[list[object]] = [
        ["parameters", _count(number, "params")],
        ["tokens", _count(number, "tokens")],
        ["tokens per parameter", f"{number['tokens_per_param']:.3g}"],
        ["loss", _loss(number)],
        ["law", answer["law"]],
        ["N counts", answer["counts"]],
    ]
    band = answer["band"]
    if isinstance(band, list):
        ends = f"{show_span(show_count, *band)} parameters"
        rows.append([f"within {show_percent(BAND)} of the best loss", ends])
    if "gain_next_doubling" in answer:
        rows += [
            ["gain of the last doubling of data", show_percent(number["gain_last_doubling"])],
            ["gain of the next doubling of data", show_percent(number["gain_next_doubling"])],
            ["gain of doubling the compute", show_percent(number["gain_next_doubling_of_compute"])],
        ]
    print_table(f"Best split of {show_compute(number['flops'])}", ["what", "value"], rows)
    for name, title in (
        ("fixed", "The plan that was fixed"),
        ("target", "The loss that was asked for"),
        ("serving", "Trained longer because it will be served"),
    ):
        part = answer.get(name)
        if isinstance(part, dict):
            print()
            print_table(title, ["what", "value"], [_row(*item) for item in part.items()])
    note("6 FLOP per parameter and token; the optimum is flat, choose within the band by cost")
    for text in answer["warnings"]:
        warn(text)


def _row(name: str, value: float) -> list[object]:
    return [name.replace("_", " "), _cell(name, value)]


def _cell(name: str, value: float) -> str:
    if name in ("saving", "wasted_share"):
        return show_percent(value)
    if "flops" in name or "budget" in name:
        return show_compute(value)
    if "loss" in name:
        return f"{value:.4f}"
    return f"{value:.3g}" if name == "tokens_per_param" else show_count(value)


def _count(number: dict[str, float], name: str) -> str:
    return show_interval(
        show_count, number[name], number.get(f"{name}_low"), number.get(f"{name}_high")
    )


def _loss(number: dict[str, float]) -> str:
    if "loss" not in number:
        return "unknown (the law states none)"
    return f"{number['loss']:.3f} ({number['loss_low']:.3f} to {number['loss_high']:.3f})"
