"""`forerun stop LOG`: when to stop, from a training log."""

from __future__ import annotations

import argparse
import math

from planner.cli.amounts import NUMBER, PARAMS, amount
from planner.cli.output import note, print_json, print_table, warn
from planner.engine.choices import SCHEDULES, TASKS
from planner.quantities import (
    SECONDS,
    TOKENS,
    USD,
    show_count,
    show_duration,
    show_percent,
    show_usd,
)
from planner.scaling.logs import FORMATS, read_log
from planner.scaling.marginal import THRESHOLD
from planner.scaling.stopping import StopOptions, StopReport, stop_report
from planner.scaling.stopping.answer import stop_answer
from planner.scaling.stopping.chart import text_chart
from planner.scaling.stopping.gains import Gain
from planner.scaling.stopping.options import DIRECTIONS, UNITS

HELP = "when to stop, from a training log"


def configure(parser: argparse.ArgumentParser) -> None:
    """The log and everything that it may not tell."""
    parser.add_argument(
        "log",
        metavar="LOG",
        nargs="+",
        help=f"training log, or the segments of one run in order; read: {', '.join(FORMATS)}",
    )
    _add_rule(parser)
    _add_run(parser)
    _add_money(parser)


def _add_rule(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threshold",
        metavar="SHARE",
        default=str(THRESHOLD),
        help="relative gain per unit below which more is not worth it: 0.015 or 1.5%% (default)",
    )
    parser.add_argument(
        "--unit", choices=UNITS, default="doubling", help="whose verdict is the headline"
    )
    parser.add_argument(
        "--metric", metavar="NAME", help="metric to judge by (default: chosen, told)"
    )
    parser.add_argument("--direction", choices=DIRECTIONS, help="of a metric that is not known")
    parser.add_argument("--unit-hours", metavar="H", help="hours in one unit of time (default: 1)")
    parser.add_argument("--unit-usd", metavar="USD", help="dollars in one unit of money")
    parser.add_argument(
        "--validations", metavar="N", help="evaluation points to propose (default: 6)"
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--total-steps", metavar="N", help="planned length of the run")
    parser.add_argument("--schedule", choices=SCHEDULES, help="of the learning rate")
    parser.add_argument("--warmup-steps", metavar="N", help="of the schedule (default: 0)")
    parser.add_argument("--final-ratio", metavar="R", help="last learning rate over its peak")
    parser.add_argument("--decay-share", metavar="S", help="share of the run that wsd decays over")
    parser.add_argument("--task", choices=TASKS, default="pretrain", help="what is trained")
    parser.add_argument("--epochs", metavar="N", help="planned epochs, for advice on fine-tunes")
    parser.add_argument("--params", metavar="N", help="of the model, to see what a law says")
    parser.add_argument("--tokens-per-step", metavar="N", help="where the log counts no tokens")
    parser.add_argument("--seconds-per-step", metavar="S", help="where the log tells no time")
    parser.add_argument("--eval-seconds", metavar="S", help="duration of one evaluation")


def _add_money(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--usd-per-hour", metavar="USD", help="price of the whole job, all devices")
    parser.add_argument("--devices", metavar="N", help="accelerators of the job")
    parser.add_argument("--worth", metavar="USD", help="what one per cent of gain is worth to you")


def run(args: argparse.Namespace) -> int:
    report = stop_report(read_log(args.log), options_of(args))
    if args.json:
        print_json(stop_answer(report))
        return 0
    for text in report.log.notes:
        note(text)
    for text in report.warnings:
        warn(text)
    _show(report)
    return 0


def options_of(args: argparse.Namespace) -> StopOptions:
    """The options as typed; raises PlannerError naming the flag at fault."""

    def number(name: str, default: float) -> float:
        given = amount(NUMBER, f"--{name}", getattr(args, name.replace("-", "_")))
        return default if given is None else given

    devices = amount(NUMBER, "--devices", args.devices)
    return StopOptions(
        threshold=_share("--threshold", args.threshold),
        unit=args.unit,
        metric=args.metric,
        direction=args.direction,
        unit_hours=number("unit-hours", 1.0),
        unit_usd=amount(USD, "--unit-usd", args.unit_usd),
        usd_per_hour=amount(USD, "--usd-per-hour", args.usd_per_hour),
        num_devices=None if devices is None else math.ceil(devices),
        seconds_per_step=amount(SECONDS, "--seconds-per-step", args.seconds_per_step),
        total_steps=amount(NUMBER, "--total-steps", args.total_steps),
        schedule=args.schedule,
        warmup_steps=number("warmup-steps", 0.0),
        final_ratio=amount(NUMBER, "--final-ratio", args.final_ratio),
        decay_share=number("decay-share", 0.2),
        task=args.task,
        epochs=amount(NUMBER, "--epochs", args.epochs),
        params=amount(PARAMS, "--params", args.params),
        tokens_per_step=amount(TOKENS, "--tokens-per-step", args.tokens_per_step),
        worth_usd=amount(USD, "--worth", args.worth),
        evaluation_seconds=amount(SECONDS, "--eval-seconds", args.eval_seconds),
        num_validations=math.ceil(number("validations", 6.0)),
    )


def _share(field: str, text: str) -> float:
    """0.015 and 1.5% are the same."""
    if text.rstrip().endswith("%"):
        return (amount(NUMBER, field, text.rstrip()[:-1]) or 0.0) / 100.0
    return amount(NUMBER, field, text) or 0.0


def _show(report: StopReport) -> None:
    judged = report.judgement
    print(f"{report.verdict.upper()}: {judged.reason}")
    print(
        f"{report.metric.name} is {_level(report.smoothed_last)} at {report.axis} "
        f"{report.last_step:,.6g} ({report.log.format}, {report.series.num_points:,} points)"
    )
    _show_chart(report)
    print()
    print_table(
        f"Marginal gain, threshold {show_percent(report.options.threshold)}",
        ["per", "gain", "verdict", "remark"],
        _gain_rows(report),
    )
    rows = [*_forecast_rows(report), *_ahead_rows(report)]
    if rows:
        print()
        print_table("Ahead", ["what", "answer"], rows)
    for text in (*report.advice, *(f"freed: {use}" for use in report.freed.use)):
        print(f"- {text}")


def _show_chart(report: StopReport) -> None:
    later = report.series.steps > 0
    if later.sum() < 3:
        return
    forecast = report.outlook.forecast
    ahead = None
    if forecast is not None and report.outlook.has_end:
        ahead = (forecast.steps, forecast.middle, forecast.low, forecast.high)
    print()
    chart = text_chart(
        report.series.steps[later], report.series.values[later], ahead=ahead, axis=report.axis
    )
    print(chart)


def _gain_rows(report: StopReport) -> list[list[object]]:
    judged, options = report.judgement, report.options
    usd = "dollars" if judged.usd_in_unit is None else show_usd(judged.usd_in_unit)
    hours = "hour" if options.unit_hours == 1.0 else show_duration(options.unit_hours * 3600.0)
    rows = [
        _gain_row("doubling", judged.doubling, judged.verdicts["per_doubling"]),
        _gain_row(hours, judged.hour, judged.verdicts["per_hour"]),
        _gain_row(usd, judged.usd, judged.verdicts["per_usd"]),
    ]
    if judged.matched is not None:
        rows.append(
            ["doubling, matched schedule", show_percent(judged.matched), None, "by the fit"]
        )
    if report.gain_next is not None:
        rows.append(["next doubling", show_percent(report.gain_next), None, "by the fit"])
    if report.value_verdict is not None:
        remark = f"the next doubling costs {show_usd(report.next_doubling_usd)}"
        rows.append(["worth against cost", None, report.value_verdict, remark])
    return rows


def _gain_row(unit: str, gain: Gain, verdict: str | None) -> list[object]:
    if gain.value is None:
        return [unit, None, None, gain.reason]
    remark = f"evaluation noise {show_percent(gain.deviation)}" if gain.deviation > 1e-6 else ""
    return [unit, show_percent(gain.value), verdict, remark]


def _forecast_rows(report: StopReport) -> list[list[object]]:
    forecast = report.outlook.forecast
    if forecast is None or not report.outlook.has_end:
        return []
    known = "schedule known" if forecast.schedule_aware else "schedule unknown"
    return [
        [
            f"{report.metric.name} at step {forecast.steps[-1]:,.0f}",
            f"{forecast.final_loss:.4g} ({forecast.final_low:.4g} to {forecast.final_high:.4g}, "
            f"80 %; {known})",
        ]
    ]


def _ahead_rows(report: StopReport) -> list[list[object]]:
    rows: list[list[object]] = []
    stop = report.stop_at
    if stop.step is not None:
        seconds = "" if stop.seconds is None else f", after {show_duration(stop.seconds)}"
        level = "" if stop.loss is None else f", {report.metric.name} {_level(stop.loss)}"
        rows.append(
            [_stop_word(report), f"{report.axis} {_step(report, stop.step)}{seconds}{level}"]
        )
    if report.next_validation:
        steps = ", ".join(_step(report, step) for step in report.next_validation)
        rows.append(["evaluate next at", steps])
        if report.validation_usd is not None:
            rows.append(["cost of these", show_usd(report.validation_usd)])
    freed = report.freed
    if freed.steps is not None:
        hours = None if freed.hours is None else show_duration(freed.hours * 3600.0)
        told = [f"{freed.steps:,.0f} steps", hours, freed.usd and show_usd(freed.usd)]
        rows.append(["stopping sets free", ", ".join(part for part in told if part)])
    if report.law is not None:
        tokens = show_count(report.law.stop_tokens, "tokens")
        below = f"next doubling below the threshold from {tokens}"
        rows.append(["the default law at this size", below])
    return rows


def _stop_word(report: StopReport) -> str:
    """Whether the stop point lies ahead by forecast, is due, or is a checkpoint to return to."""
    words = {"continue": "the rule would stop at", "diverged": "go back to"}
    return words.get(report.verdict, "stop at")


def _step(report: StopReport, step: float) -> str:
    return f"{step:,.0f}" if report.axis == "step" else f"{step:,.3g}"


def _level(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"
