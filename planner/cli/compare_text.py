"""`forerun compare` for a person to read."""

from __future__ import annotations

from typing import Any

from planner.cli.bars import line, paint
from planner.cli.output import print_table, warn
from planner.quantities import show_bytes, show_duration, show_energy, show_usd

COLUMNS = ("", "accelerator", "count", "run", "80 % interval", "cost", "energy", "memory", "why")


def show(answer: dict[str, Any], top: int) -> None:
    """Print a ranking; warnings go to standard error."""
    ranking = answer["ranking"]
    shown = [row for row in ranking if row["fits"]][:top]
    lost = [row for row in ranking if not row["fits"]]
    print_table(
        paint(f"Best by {answer['by']}", "bold"),
        COLUMNS,
        [_cells(place, row) for place, row in enumerate(shown, 1)],
    )
    hidden = sum(row["fits"] for row in ranking) - len(shown)
    if hidden:
        print(f"{hidden} more fit: --top {len(shown) + hidden} shows them")
    _front(answer["pareto"])
    _lost(lost)
    _excluded(answer["excluded"])
    evaluated, seconds = answer["candidates"]["evaluated"], answer["candidates"]["seconds"]
    print(f"\n{evaluated:,} candidates evaluated in {seconds:.2g} s")
    for text in answer["warnings"]:
        warn(text)


def _cells(place: int, row: dict[str, Any]) -> list[object]:
    run, cost, energy, memory = row["run"], row["cost"], row["energy"], row["memory"]
    return [
        str(place),
        row["sku"],
        f"{row['count']:,}",
        show_duration(run["seconds"]),
        f"{show_duration(run['low'])} to {show_duration(run['high'])}",
        None if cost["usd"] is None else show_usd(cost["usd"]),
        None if energy["kwh"] is None else show_energy(energy["kwh"]),
        f"{show_bytes(memory['peak_bytes'])} of {show_bytes(memory['capacity_bytes'])}"
        + ("" if row["verdict"] == "fits" else " (uncertain)"),
        row["why"],
    ]


def _front(pareto: list[dict[str, Any]]) -> None:
    """What no other beats in time, cost and energy at once."""
    if len(pareto) < 2:
        return
    rows = [
        [
            row["sku"],
            f"{row['count']:,}",
            row["price_mode"],
            show_duration(row["seconds"]),
            None if row["usd"] is None else show_usd(row["usd"]),
            None if row["kwh"] is None else show_energy(row["kwh"]),
        ]
        for row in pareto
    ]
    print()
    title = paint("Not beaten in time, cost and energy at once", "bold")
    print_table(title, ("accelerator", "count", "price", "run", "cost", "energy"), rows)


def _lost(lost: list[dict[str, Any]]) -> None:
    if lost:
        print("\n" + paint("Nothing fits on", "bold"))
    column = max((len(row["sku"]) for row in lost), default=0) + 2
    for row in lost:
        print(line(row["sku"], row["why"], column=column))


def _excluded(excluded: list[dict[str, Any]]) -> None:
    """Left out, those of one reason together."""
    by_reason: dict[str, list[str]] = {}
    for row in excluded:
        by_reason.setdefault(row["reason"].replace(row["sku"], "it"), []).append(row["sku"])
    if by_reason:
        print("\n" + paint("Left out", "bold"))
    for reason, skus in by_reason.items():
        print(line("", f"{', '.join(skus)}: {reason}", column=0))
