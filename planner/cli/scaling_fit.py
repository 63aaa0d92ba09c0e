"""`forerun scaling fit`: a law of one's own runs, how sure it is, and what it cannot explain."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from planner.cli.amounts import PARAMS, show_compute
from planner.cli.output import note, print_json, print_table, warn
from planner.cli.scaling_options import runs_of
from planner.errors import PlannerError
from planner.quantities import TOKENS, read, show_count, show_percent
from planner.scaling.bootstrap import FittedLaw, bootstrap
from planner.scaling.fit import Fit, fit_runs
from planner.scaling.holdout import HoldOut, compare_forms
from planner.scaling.outliers import Outlier, outliers, residual_bands
from planner.scaling.surface import FITTED_FORMS, SUM_OF_POWERS

BEST = "best"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", metavar="RUNS.csv", help="columns params,tokens,loss (or flops for one of two)"
    )
    parser.add_argument(
        "--columns",
        metavar="NAME=COLUMN,..",
        help="what the table calls them: params=N,loss=c4_loss",
    )
    parser.add_argument(
        "--where", metavar="COLUMN=TEXT,..", help="only the rows of one family: dataset=c4"
    )
    parser.add_argument(
        "--single-epoch",
        action="store_true",
        help="leave out runs that repeat their data (column unique_tokens)",
    )
    parser.add_argument(
        "--drop-largest", metavar="K", default="0", help="leave out the K largest losses (0)"
    )
    parser.add_argument(
        "--form",
        choices=[*FITTED_FORMS, BEST],
        default=SUM_OF_POWERS,
        help="shape of the law; best = the one that predicts the largest runs better",
    )
    parser.add_argument("--bootstrap", metavar="DRAWS", default="200", help="resamples (200)")
    parser.add_argument("--seed", metavar="S", default="0", help="of the resampling (0)")
    parser.add_argument("--params", metavar="N", help="also forecast a run of this size")
    parser.add_argument("--tokens", metavar="D", help="... on so many tokens")


def run(args: argparse.Namespace) -> int:
    whole = runs_of(args.runs, _pairs("--columns", args.columns), _pairs("--where", args.where))
    if args.single_epoch:
        whole = whole.take(~whole.repeats)
    dropped = _whole_number("--drop-largest", args.drop_largest)
    runs = whole.without_largest_losses(dropped)
    forms = compare_forms(runs)
    fit = fit_runs(runs, form=forms[0].form if args.form == BEST else args.form)
    fitted = bootstrap(
        fit,
        count=_whole_number("--bootstrap", args.bootstrap),
        seed=_whole_number("--seed", args.seed),
    )
    found = outliers(fit)
    answer = answer_of(fitted, forms, found, dropped) | {"forecast": _forecast(args, fitted)}
    if args.json:
        print_json(answer)
    else:
        _show(answer, fitted, forms, found)
    return 0


def answer_of(
    fitted: FittedLaw, forms: Sequence[HoldOut], found: Sequence[Outlier], dropped: int
) -> dict[str, Any]:
    """The fit as the JSON that other programs rely on, without a forecast."""
    fit = fitted.fit
    return {
        "law": fit.surface.form,
        "constants": fit.constants,
        "ci80": {name: list(ends) for name, ends in fitted.constant_intervals().items()},
        "n": len(fit.runs),
        "dropped": dropped,
        "objective": fit.objective,
        "held_out": forms,
        "outliers": found,
        "without_outliers": _without(fit, found),
        "residuals": fit.residuals,
        "residual_bands": residual_bands(fit),
        "warnings": _warnings(fit, found, forms),
    }


def _without(fit: Fit, found: Sequence[Outlier]) -> dict[str, float] | None:
    """The constants when the outliers are left out, or None when there are none."""
    if not found:
        return None
    bad = {outlier.position for outlier in found}
    keep = [position not in bad for position in range(len(fit.runs))]
    try:
        return fit_runs(fit.runs.take(np.array(keep)), form=fit.surface.form).constants
    except PlannerError:
        return None


def _warnings(fit: Fit, found: Sequence[Outlier], forms: Sequence[HoldOut]) -> list[str]:
    warnings = [f"the runs do not determine {name}: it ended at its bound" for name in fit.at_bound]
    if found:
        worst = found[0]
        warnings.append(
            f"{len(found)} of {len(fit.runs)} runs lie more than 8 robust standard deviations off, "
            f"worst {show_count(worst.params)} on {show_count(worst.tokens, 'tokens')}, loss "
            f"{worst.loss:.3f} against {worst.predicted:.3f}: compare the constants without them"
        )
    best = forms[0]
    if best.error is not None and best.form != fit.surface.form:
        own = next(form for form in forms if form.form == fit.surface.form)
        if own.error is not None and own.error > 1.2 * best.error:
            warnings.append(
                f"{best.form} predicts the largest runs better ({best.error:.2%} against "
                f"{own.error:.2%}): --form {best.form}"
            )
    repeating = int(fit.runs.repeats.sum())
    if repeating:
        warnings.append(
            f"{repeating} of {len(fit.runs)} runs repeat their data, which this form does not "
            "know: leave them out (--single-epoch) and ask muennighoff2023 about repeats"
        )
    undertrained = int((fit.runs.tokens < fit.runs.params).sum())
    if undertrained:
        warnings.append(
            f"{undertrained} runs saw less than one token per parameter, where these laws do not "
            "hold; leave them out"
        )
    return warnings


def _pairs(option: str, text: str | None) -> dict[str, str]:
    """`a=b,c=d` as a mapping."""
    pairs = [part.partition("=") for part in (text or "").split(",") if part.strip()]
    for name, equals, value in pairs:
        if not (name.strip() and equals and value.strip()):
            raise PlannerError(option, text, "write NAME=COLUMN, several with commas between")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _forecast(args: argparse.Namespace, fitted: FittedLaw) -> dict[str, float] | None:
    if args.params is None and args.tokens is None:
        return None
    if args.params is None or args.tokens is None:
        raise PlannerError("--params", args.params, "give it together with --tokens")
    params, tokens = read(PARAMS, "--params", args.params), read(TOKENS, "--tokens", args.tokens)
    forecast = fitted.forecast(np.array([params]), np.array([tokens]))
    return {
        "params": params,
        "tokens": tokens,
        "loss": float(forecast.value[0]),
        "low": float(forecast.low[0]),
        "high": float(forecast.high[0]),
    }


def _show(
    answer: dict[str, Any],
    fitted: FittedLaw,
    forms: Sequence[HoldOut],
    found: Sequence[Outlier],
) -> None:
    fit, intervals = fitted.fit, fitted.constant_intervals()
    others = answer["without_outliers"]
    columns = ["constant", "value", "80 % low", "high"]
    columns += ["without outliers"] if isinstance(others, dict) else []
    rows = []
    for name, value in fit.constants.items():
        row = [name, *(f"{number:.5g}" for number in (value, *intervals[name]))]
        rows.append([*row, f"{others[name]:.5g}"] if isinstance(others, dict) else row)
    print_table(
        f"{fit.surface.form}, {len(fit.runs)} runs, objective {fit.objective:.6g}", columns, rows
    )
    print()
    held_out = [
        [form.form, form.num_fitted, form.num_held_out, show_percent(form.error), form.reason]
        for form in forms
    ]
    columns = ["form", "fitted", "largest held out", "mean error", "why not"]
    print_table("Which form predicts the largest runs", columns, held_out)
    print()
    _show_residuals(fit)
    if found:
        print()
        _show_outliers(found)
    forecast = answer["forecast"]
    if isinstance(forecast, dict):
        ends = f"{forecast['low']:.3f} to {forecast['high']:.3f}"
        what = f"{show_count(forecast['params'])} on {show_count(forecast['tokens'], 'tokens')}"
        print(f"\n{what}: loss {forecast['loss']:.3f} (80 % of runs {ends})")
    if fit.surface.form == SUM_OF_POWERS:
        note("E is where this curve flattens, not proof of an irreducible loss")
    for text in answer["warnings"]:
        warn(text)


def _show_residuals(fit: Fit) -> None:
    rows = [
        [
            f"{show_compute(band.flops_low)} to {show_compute(band.flops_high)}",
            band.num_runs,
            f"{band.bias:+.2%}",
            f"{band.spread:.2%}",
        ]
        for band in residual_bands(fit)
    ]
    columns = ["compute", "runs", "bias", "80 % within"]
    print_table("What the law misses (predicted over observed)", columns, rows)


def _show_outliers(found: Sequence[Outlier]) -> None:
    rows = [
        [
            outlier.position + 1,
            show_count(outlier.params),
            show_count(outlier.tokens),
            f"{outlier.loss:.3f}",
            f"{outlier.predicted:.3f}",
            f"{outlier.deviations:.0f}",
        ]
        for outlier in found[:20]
    ]
    columns = ["run", "params", "tokens", "loss", "law says", "robust deviations"]
    print_table("Runs that the law cannot explain", columns, rows)


def _whole_number(field: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 1_000_000):
        raise PlannerError(field, text, "write a whole number, 0 or more")
    return int(text)
