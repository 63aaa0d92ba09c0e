"""`forerun batch` for a person to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.cli.batch_parts import Critical
from planner.cli.output import note, print_table, warn
from planner.quantities import show_count, show_duration, show_percent
from planner.scaling.accumulation import Epoch, WindowLoss
from planner.scaling.critical_batch import BatchPoint
from planner.scaling.learning_rate import Published, Rescaled


def show(answer: dict[str, Any]) -> None:
    """Print every part that there is, notes and warnings last."""
    _critical(answer["critical_batch"])
    _batches(answer["batches"])
    _accumulation(answer["accumulation"])
    rates = answer["learning_rate"] or {}
    _carried(rates.get("carried"))
    _published(rates.get("published"))
    _window(answer["window"])
    if answer["rate_bound"] is not None:
        print(f"Largest learning rate for these noisy gradients: {answer['rate_bound']:.3g}")
    for text in answer["warnings"]:
        warn(text)


def _critical(critical: Critical | None) -> None:
    if critical is None:
        return
    rows = [["tokens per step", show_count(critical.tokens)]]
    if critical.sequences is not None:
        rows.append(["sequences per step", show_count(critical.sequences)])
    if critical.loss is not None:
        rows.append(["at loss", f"{critical.loss:.3f}"])
        rows.append(["best batch there (MiniCPM)", show_count(critical.optimal_tokens, "tokens")])
    print_table("Critical batch", ["what", "value"], [*rows, ["source", critical.source]])
    note("at the critical batch a run takes twice the tokens and twice the fewest steps")
    if critical.loss is not None:
        note(
            "others' recipes give laws a factor of 2 to 4 apart: measure the noise scale if you can"
        )


def _batches(points: Sequence[BatchPoint] | None) -> None:
    if not points:
        return
    timed = points[0].seconds is not None
    columns = ["tokens per step", "steps", "tokens", "extra tokens"]
    columns += ["time, same devices", "time, devices grown"] if timed else []
    rows = []
    for point in points:
        row = [show_count(point.batch_tokens), show_count(point.steps), show_count(point.tokens)]
        row.append(show_percent(point.extra_tokens))
        if timed:
            row += [show_duration(point.seconds), show_duration(point.seconds_grown)]
        rows.append(row)
    print()
    print_table("The same loss at other batches", columns, rows)


def _accumulation(epoch: Epoch | None) -> None:
    if epoch is None:
        return
    rows: list[list[object]] = [
        ["accumulation (micro-steps per optimizer step)", epoch.accumulation],
        ["global batch, sequences", epoch.global_batch],
        ["loader iterations per rank", epoch.loader_iterations],
        ["optimizer steps", epoch.optimizer_steps],
        ["micro-steps in the last optimizer step", epoch.last_window],
    ]
    print()
    print_table("One epoch", ["what", "value"], rows)
    if epoch.last_window < epoch.accumulation:
        warn("the last window is short: divide by what it holds, not by the accumulation")


def _carried(carried: Rescaled | None) -> None:
    if carried is None:
        return
    rows = [[f"learning rate ({carried.rule} rule)", f"{carried.rate:.3g}"]]
    if carried.ceiling is not None:
        rows += [["without saturation", f"{carried.plain:.3g}"]]
        rows += [["never above, at any batch", f"{carried.ceiling:.3g}"]]
    print()
    print_table("Learning rate at this batch", ["what", "value"], rows)
    for text in carried.warnings:
        warn(text)


def _published(advice: Sequence[Published] | None) -> None:
    if not advice:
        return
    rows = [
        [
            entry.name,
            f"{entry.rate:.3g}",
            "-" if entry.batch_tokens is None else show_count(entry.batch_tokens),
            "yes" if entry.inside else "no",
            entry.note,
        ]
        for entry in advice
    ]
    print()
    columns = ["fit", "learning rate", "batch, tokens", "in its range", "for"]
    print_table("What published fits advise", columns, rows)
    note("fits disagree even on the sign of the trend with tokens (arXiv:2409.19913)")


def _window(window: WindowLoss | None) -> None:
    if window is None:
        return
    rows = [
        ["weighted by tokens (right)", f"{window.loss:.6g}"],
        ["mean of means", f"{window.mean_of_means:.6g}"],
        ["sum of means", f"{window.sum_of_means:.6g}"],
        ["divided by the configured accumulation", f"{window.divided_by_configured:.6g}"],
    ]
    print()
    print_table("Loss of the window", ["average", "loss"], rows)
    for text in window.warnings:
        warn(text)
