"""The tables of the Search page, from the answer of `forerun search --json`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from planner.quantities import (
    show_duration,
    show_energy,
    show_percent,
    show_usd,
    show_whole,
)
from ui.charts.pareto import status_of
from ui.options import accelerator_name
from ui.table import Row, Table
from ui.text import Words, show_share

DEGREES = ("tp", "pp", "cp", "ep", "dp")
_ROW_VALUES = (
    *("sku", "count", "price_mode", "precision", "power_limit", *DEGREES, "interleave"),
    *("sharding", "recompute", "micro_batch", "accumulation", "global_batch"),
    *("attention", "loss", "compile", "seconds", "usd", "kwh", "memory_share", "fits"),
)
_SETTINGS = (
    *("sku", "count", "precision", "layout.tp", "layout.pp", "layout.cp", "layout.ep"),
    *("layout.dp", "layout.sharding", "layout.interleave", "global_batch", "micro_batch"),
    *("accumulation", "recompute", "attention", "loss", "compile", "price_mode", "power_limit"),
)
_UNUSUAL = ("price_mode", "power_limit")  # said only where they differ


def row_name(row: Mapping[str, Any], words: Words) -> str:
    """A candidate in one line: machine, precision, layout, batch."""
    machine = words(
        "plan.of_devices", count=show_whole(row["count"]), name=accelerator_name(row["sku"])
    )
    parts = [
        machine,
        row["precision"],
        layout_of(row),
        f"{row['micro_batch']}×{row['accumulation']}",
    ]
    if row["recompute"] != "none":
        parts.append(f"{words('axis.recompute')} {row['recompute']}")
    if row["price_mode"] != "on-demand":
        parts.append(row["price_mode"])
    if row.get("power_limit"):
        parts.append(f"{row['power_limit']:g} W")
    return " · ".join(parts)


def layout_of(row: Mapping[str, Any]) -> str:
    """
    >>> row = {"tp": 8, "pp": 1, "cp": 1, "ep": 1, "dp": 4, "interleave": 1, "sharding": "zero1"}
    >>> layout_of(row)
    'tp8 dp4 zero1'
    """
    found = [f"{name}{row[name]}" for name in DEGREES if row[name] > 1]
    found += [f"v{row['interleave']}"] if row["interleave"] > 1 else []
    return " ".join([*found, row["sharding"]])


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A whole candidate, whose settings stand in `chosen`, as a short row has them."""
    chosen = row["chosen"]
    return {**row, **chosen, **chosen["layout"]}


def _figures(row: Mapping[str, Any], words: Words) -> tuple[str, ...]:
    """Time, cost, energy and memory as shown."""
    return (
        words.number(show_duration(row["seconds"])),
        words.number(show_usd(row["usd"])),
        words.number(show_energy(row["kwh"])),
        show_percent(row["memory_share"]),
    )


def _heads(words: Words, *more: str) -> tuple[str, ...]:
    named = ("search.configuration", "plan.time", "plan.cost", "plan.energy", "search.memory")
    return tuple(words(key) for key in (*named, *more))


def points(rows: Sequence[Mapping[str, Any]], words: Words) -> Table:
    """The best of every machine, price and precision, numbered as in the figure."""
    return Table(
        columns=_heads(words, "search.status"),
        names=("number", *_ROW_VALUES, "status"),
        rows=tuple(
            Row(
                cells=(
                    f"{index + 1}. {row_name(row, words)}",
                    *_figures(row, words),
                    words(f"search.status_{status_of(row)}"),
                ),
                values=(index + 1, *(row[name] for name in _ROW_VALUES), status_of(row)),
                strong=index == 0 and row["keeps_limits"],
            )
            for index, row in enumerate(rows)
        ),
        numeric=(1, 2, 3, 4),
    )


def letter(index: int) -> str:
    """What stands before an alternative: numbers are those of the figure.

    >>> letter(0), letter(7)
    ('a', 'h')
    """
    return chr(ord("a") + index)


def alternatives(rows: Sequence[Mapping[str, Any]], words: Words) -> Table:
    """The next best on the best's own machine."""
    return Table(
        columns=_heads(words, "axis.loss", "axis.compile"),
        names=("letter", *_ROW_VALUES),
        rows=tuple(
            Row(
                cells=(
                    f"{letter(index)}. {row_name(row, words)}",
                    *_figures(row, words),
                    row["loss"],
                    row["compile"],
                ),
                values=(letter(index), *(row[name] for name in _ROW_VALUES)),
            )
            for index, row in enumerate(rows)
        ),
        numeric=(1, 2, 3, 4),
    )


def settings(stated: Mapping[str, Any] | None, best: Mapping[str, Any], words: Words) -> Table:
    """Every setting of the best beside that of the run as stated; those that differ are strong."""
    rows = []
    for name in _SETTINGS:
        old, new = _setting(stated, name), _setting(best, name)
        cells = (words.name("setting", name), _said(name, old), _said(name, new))
        differs = stated is not None and old != new
        if name in _UNUSUAL and not differs:
            continue
        rows.append(Row(cells=cells, values=(name, old, new), strong=differs))
    return Table(
        columns=(words("plan.setting"), words("search.as_stated"), words("search.best")),
        names=("setting", "as_stated", "best"),
        rows=tuple(rows),
    )


def _setting(chosen: Mapping[str, Any] | None, name: str) -> Any:
    if chosen is None:
        return None
    section, _, key = name.rpartition(".")
    return chosen[section][key] if section else chosen[name]


def _said(name: str, value: Any) -> str:
    if value is None:
        return "–"
    if name == "sku":
        return accelerator_name(str(value))
    return show_whole(value) if isinstance(value, int) else str(value)


def trials(history: Sequence[Mapping[str, Any]], by: str, words: Words) -> Table:
    """The trials that bettered the best so far; the download has the same."""
    show = objective_shower(by, words)
    rows = [
        Row(
            cells=(str(row["trial"] + 1), show(row["best"])),
            values=(row["trial"] + 1, row["best"]),
        )
        for row in improved(history)
    ]
    return Table(
        columns=(words("search.trial"), words(f"search.{by}_objective")),
        names=("trial", {"time": "seconds", "cost": "usd", "energy": "kwh"}.get(by, by)),
        rows=tuple(rows) or (Row(cells=("–", "–"), values=(None, None)),),
        numeric=(0, 1),
    )


def improved(history: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Rows at which the best fell.

    >>> [row["trial"] for row in improved([{"trial": t, "best": b}
    ...     for t, b in enumerate([None, 3.0, 3.0, 2.0])])]
    [1, 3]
    """
    least = None
    for row in history:
        if row["best"] is not None and row["best"] != least:
            least = row["best"]
            yield row


def objective_shower(by: str, words: Words) -> Callable[[float], str]:
    """How a value of the objective is shown."""
    if by == "time":
        return lambda value: words.number(show_duration(value))
    if by == "value":
        return lambda value: f"{value:.4g}"
    return show_usd if by == "cost" else show_energy


def importance(shares: Mapping[str, float], words: Words) -> Table:
    """Share of each setting in what decides the objective."""
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    return Table(
        columns=(words("plan.setting"), words("search.importance_share")),
        names=("setting", "share"),
        rows=tuple(
            Row(cells=(words.name("axis", name), show_share(share)), values=(name, share))
            for name, share in ordered
        ),
        numeric=(1,),
    )


def excluded(rows: Sequence[Mapping[str, Any]], words: Words) -> Table:
    """Parts of the space that cannot run, with the reason."""
    return Table(
        columns=(words("search.machine"), words("accuracy.reason")),
        names=("machine", "reason"),
        rows=tuple(
            Row(cells=(_machine(row), row["reason"]), values=(_machine(row), row["reason"]))
            for row in rows
        ),
    )


def _machine(row: Mapping[str, Any]) -> str:
    counts = ", ".join(map(str, row["counts"]))
    return " ".join(filter(None, (counts, "×", accelerator_name(row["sku"]), row["words"])))
