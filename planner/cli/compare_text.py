"""`forerun compare` for a person to read."""

from __future__ import annotations

import math
from typing import Any

from planner.cli.bars import line, paint
from planner.cli.output import output_width, print_table, warn
from planner.quantities import show_bytes, show_duration, show_energy, show_interval, show_usd
from planner.search.losing import leanest_needs
from planner.search.points import OBJECTIVES

COLUMNS = ("", "accelerator", "count", "run (80 % interval)", "cost", "energy", "memory")
WIDE = 150  # columns of a terminal from which on the reason stands in the table


MOST_FRONT, MOST_LOST = 8, 4  # lines of these lists without --all
MOST_NAMED = 6  # accelerators that a line names without --all


def show(answer: dict[str, Any], top: int | None) -> None:
    """Print a ranking, `top` lines of it and the gist of the other lists; None prints all."""
    ranking = answer["ranking"]
    fitting = [row for row in ranking if row["fits"]]
    shown = fitting[:top]
    print(paint(title(answer), "bold"))
    _reason(answer)
    _ranked(shown)
    if len(fitting) > len(shown):
        print(f"{len(fitting) - len(shown)} more fit: --top {len(fitting)} or --all")
    _front(answer, whole=top is None)
    _lost([row for row in ranking if not row["fits"]], whole=top is None)
    _excluded(answer["excluded"], whole=top is None)
    evaluated, seconds = answer["candidates"]["evaluated"], answer["candidates"]["seconds"]
    print(f"\n{evaluated:,} candidates evaluated in {seconds:.2g} s")
    for text in answer["warnings"]:
        warn(text)


def _ranked(rows: list[dict[str, Any]]) -> None:
    """The ranking; on a narrow terminal the reasons follow it, by place."""
    cells = [_cells(place, row) for place, row in enumerate(rows, 1)]
    width = output_width()
    if width is None or width >= WIDE:
        whole = [[*own, row["why"]] for own, row in zip(cells, rows, strict=True)]
        print_table(None, (*COLUMNS, "why"), whole)
        return
    print_table(None, COLUMNS, cells)
    if rows:
        print("\n" + paint("Why in this place", "bold"))
    for place, row in enumerate(rows, 1):
        print(line(f"{place:>3} ", row["why"], column=7))


def title(answer: dict[str, Any]) -> str:
    """What it is the best by, and what a value weighs.

    >>> title({"by": "value", "weights": {"time": 1.0, "cost": 2.0}})
    'Best by value (time 1, cost 2)'
    """
    weights = answer["weights"] or {}
    listed = ", ".join(f"{name} {weight:g}" for name, weight in weights.items())
    return f"Best by {answer['by']}" + (f" ({listed})" if listed else "")


def _reason(answer: dict[str, Any]) -> None:
    """Why it is ranked so, where nobody asked for it."""
    if answer["by_reason"] is not None:
        others = ", ".join(word for word in OBJECTIVES if word != answer["by"])
        print(line("", f"as {answer['by_reason']}; else --by {others}", column=0))


def _cells(place: int, row: dict[str, Any]) -> list[object]:
    run, cost, energy, memory = row["run"], row["cost"], row["energy"], row["memory"]
    return [
        str(place),
        row["sku"],
        f"{row['count']:,}",
        show_interval(show_duration, run["seconds"], run["low"], run["high"]),
        None if cost["usd"] is None else show_usd(cost["usd"]),
        None if energy["kwh"] is None else show_energy(energy["kwh"]),
        f"{show_bytes(memory['peak_bytes'])} of {show_bytes(memory['capacity_bytes'])}"
        + ("" if row["verdict"] == "fits" else " (uncertain)"),
    ]


def _front(answer: dict[str, Any], *, whole: bool) -> None:
    """What no other beats in time, cost and energy at once."""
    front = answer["pareto"]
    if len(front) < 2:
        return
    shown = front if whole else spread(front, MOST_FRONT)
    rows = [
        [
            row["sku"],
            f"{row['count']:,}",
            row["price_mode"],
            show_duration(row["seconds"]),
            None if row["usd"] is None else show_usd(row["usd"]),
            None if row["kwh"] is None else show_energy(row["kwh"]),
        ]
        for row in shown
    ]
    print()
    head = paint("Not beaten in time, cost and energy at once", "bold")
    print_table(head, ("accelerator", "count", "price", "run", "cost", "energy"), rows)
    if len(front) > len(shown):
        print(f"{len(front) - len(shown)} more between these: --all or --json")


def spread(front: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """At most `most` rows of a front: the best by each objective, the rest evenly over time.

    `front` is ordered by time. Rows that only their energy keeps on it come after the others.
    """
    chosen = {0}
    for name in ("usd", "kwh"):
        known = [i for i, row in enumerate(front) if row[name] is not None]
        chosen |= {min(known, key=lambda i: front[i][name])} if known else set()
    for allowed in (_by_time_and_cost(front), set(range(len(front)))):
        left = allowed - chosen
        while left and len(chosen) < most:
            chosen.add(_farthest(front, left, chosen))
            left -= chosen
    return [front[i] for i in sorted(chosen)]


def _by_time_and_cost(front: list[dict[str, Any]]) -> set[int]:
    """Rows that are not beaten in these two."""
    found, least = set(), math.inf
    for i, row in enumerate(front):
        if row["usd"] is not None and row["usd"] < least:
            least = row["usd"]
            found.add(i)
    return found


def _farthest(front: list[dict[str, Any]], left: set[int], chosen: set[int]) -> int:
    """The row whose time is least like that of any chosen one."""
    logs = [math.log(row["seconds"]) for row in front]
    return max(sorted(left), key=lambda i: min(abs(logs[i] - logs[j]) for j in chosen))


def _lost(lost: list[dict[str, Any]], *, whole: bool) -> None:
    """Those on which nothing fits, nearest to fitting first, those of one need together."""
    by_need: dict[str, list[str]] = {}
    for row in lost:
        need, has = _need(row)
        by_need.setdefault(need, []).append(f"{row['sku']}{has}")
    if lost:
        print("\n" + paint("Nothing fits on", "bold"))
    needs = list(by_need.items())
    for need, names in needs if whole else needs[:MOST_LOST]:
        print(line("", f"{need}: {_named(names, whole=whole)}", column=0))
    hidden = sum(len(names) for _, names in needs[MOST_LOST:])
    if hidden and not whole:
        print(f"{hidden} more: --all or --json")


def _need(row: dict[str, Any]) -> tuple[str, str]:
    """Why nothing fits in words that those of one need share, and what the accelerator has."""
    memory = row["memory"]
    need = leanest_needs(row["count"], memory["peak_bytes"])
    if not row["why"].startswith(f"memory: {need}"):
        return row["why"], ""
    return f"{need} on each", f" ({show_bytes(memory['capacity_bytes'])})"


def _excluded(excluded: list[dict[str, Any]], *, whole: bool) -> None:
    """Left out, those of one reason together."""
    by_reason: dict[str, list[str]] = {}
    for row in excluded:
        by_reason.setdefault(row["reason"].replace(row["sku"], "it"), []).append(row["sku"])
    if by_reason:
        print("\n" + paint("Left out", "bold"))
    for reason, skus in by_reason.items():
        print(line("", f"{_named(skus, whole=whole)}: {reason}", column=0))


def _named(names: list[str], *, whole: bool) -> str:
    """A list of accelerators that one line can hold."""
    more = 0 if whole else max(len(names) - MOST_NAMED, 0)
    return ", ".join(names[: len(names) - more]) + (f" and {more} more" if more else "")
