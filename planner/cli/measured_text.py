"""`forerun search --measure` for a person to read."""

from __future__ import annotations

from typing import Any

from planner.cli.bars import paint
from planner.cli.output import print_table
from planner.quantities import show_bytes, show_duration, show_rate

COLUMNS = ("precision", "compile", "micro-batch", "accumulation", "step", "memory", "error", "says")


def show(answer: dict[str, Any]) -> None:
    """Print what real steps took, the fastest first."""
    best, rate = answer["best"], answer["samples_per_second"]
    title = f"{answer['model']} on {answer['device']}, {answer['global_batch']} samples a step"
    print(paint(title, "bold"))
    if best is None:
        print("no setting that was tried runs within memory and tolerance")
    else:
        print(
            f"fastest: {best['precision']}, compile {best['compile']}, micro-batch "
            f"{best['micro_batch']} x accumulation {best['accumulation']}: "
            f"{show_duration(best['seconds'])} a step, {show_rate(rate, 'samples')}"
        )
    print()
    print_table(None, COLUMNS, [_cells(row) for row in answer["measured"]])
    print(f"\n{answer['trials']} trials of {answer['settings']} settings")


def _cells(row: dict[str, Any]) -> list[object]:
    return [
        row["precision"],
        row["compile"],
        str(row["micro_batch"]),
        str(row["accumulation"]),
        None if row["seconds"] is None else show_duration(row["seconds"]),
        None if row["peak_bytes"] is None else show_bytes(row["peak_bytes"]),
        None if row["error"] is None else f"{row['error']:.1e}",
        _says(row),
    ]


def _says(row: dict[str, Any]) -> str:
    if row["failure"]:
        return str(row["failure"])
    if row["state"] == "pruned":
        return "slower: stopped early"
    return "" if row["feasible"] else "leaves FP32 by more than the tolerance"
