"""`forerun validate` for a person to read."""

from __future__ import annotations

from collections import Counter
from typing import Any

from planner.cli.output import note, print_table, warn
from planner.quantities import show_bytes, show_duration

_COLUMNS = ("rows", "median error", "90 % below", "bias", "in 80 % interval")
_SHORT = 44  # characters of a source's name
_SECTIONS = (
    ("by_gpu", "accelerator"),
    ("by_format", "format"),
    ("by_kind", "model"),
    ("by_size", "parameters"),
    ("by_nodes", "machines"),
    ("questions", "question"),
)
_MOST_PROBLEMS = 20
_LONGEST = 160  # characters of a reason


def show(found: dict[str, Any], *, rows: bool) -> None:
    """Print errors, refusals and problems; every row too where asked."""
    _headline(found)
    for name, title in (("time", "Step time"), ("memory", "Peak memory")):
        if found[name]["n"]:
            _scores(found[name], title)
    _outcomes(found["memory"])
    _rates(found["rate_only"])
    if rows:
        _rows(found["rows"])
    _refused(found["refused"])
    _problems(found["problems"])


def _headline(found: dict[str, Any]) -> None:
    table, time = found["table"], found["time"]
    left_out = found["mode"] == "leave-one-source-out"
    how = "constants refitted without each row's source" if left_out else "the shipped constants"
    print(
        f"{table['name']}: {table['planned']:,} rows planned, {table['refused']:,} refused; {how}"
    )
    for text in sums(found):
        print(f"  {text}")
    if time["mean_of_source_medians"] is not None:
        print(f"mean of the sources' median errors: {_percent(time['mean_of_source_medians'])}")
    rule = time["rule_of_thumb"]
    if rule and rule["mean_of_source_medians"] is not None:
        better = f"better on {rule['sources_better']} of {rule['sources_compared']}"
        theirs = _percent(rule["mean_of_source_medians"])
        rivals = "sources with ten rows or more"
        print(f"the rule 6·N·D at 40 % of the peak: {theirs}; forerun is {better} {rivals}")


def sums(found: dict[str, Any]) -> list[str]:
    """How the rows of the table add up to the step times, peaks and rates that are compared."""
    planned = found["table"]["kinds"]
    refused = Counter(each["kind"] for each in found["refused"])
    both = planned.get("time+memory", 0)
    times = _sum(
        found["time"]["n"],
        "step times",
        {
            "rows that state one": planned.get("time", 0),
            "that state a peak too": both,
            "refused, counted as an error of 100 %": refused["time"] + refused["time+memory"],
        },
    )
    peaks = _sum(
        found["memory"]["n"],
        "peaks of memory",
        {
            "rows that state an end in memory": planned.get("memory", 0),
            "of those with a step time": both,
            "refused": refused["memory"] + refused["time+memory"],
            "that ran or failed without stating a peak": -_without_peak(found, refused),
        },
    )
    rates = _sum(
        found["rate_only"]["n"],
        "rates alone (TFLOP/s or MFU)",
        {"rows": planned.get("rate-only", 0), "refused": refused["rate-only"]},
    )
    return [text for text in (times, peaks, rates) if text]


def _without_peak(found: dict[str, Any], refused: Counter[str]) -> int:
    rows = found["table"]["kinds"]
    stated = rows.get("memory", 0) + rows.get("time+memory", 0)
    return int(stated + refused["memory"] + refused["time+memory"] - found["memory"]["n"])


def _sum(total: int, name: str, terms: dict[str, int]) -> str | None:
    """A total with its terms, None for nothing.

    >>> _sum(5, "step times", {"rows": 4, "refused": 1, "guessed": 0})
    '5 step times = 4 rows + 1 refused'
    """
    shown = [(number, words) for words, number in terms.items() if number]
    if not total or not shown:
        return None
    parts = [f"{'-' if number < 0 else '+'} {abs(number):,} {words}" for number, words in shown]
    return f"{total:,} {name} = {' '.join(parts).removeprefix('+ ')}"


def _scores(scores: dict[str, Any], title: str) -> None:
    rows = [["all", *_cells(scores)]]
    rows += [[_short(name), *_cells(each)] for name, each in scores["by_source"].items()]
    print()
    print_table(title, ["source", *_COLUMNS], rows)
    for name, label in _SECTIONS:
        if len(scores[name]) > 1:
            print()
            cells = [[key, *_cells(each)] for key, each in scores[name].items()]
            print_table(f"{title} by {label}", [label, *_COLUMNS], cells)


def _cells(each: dict[str, Any]) -> list[object]:
    return [
        each["n"],
        _percent(each["median_ape"]),
        _percent(each["p90_ape"]),
        _signed(each["bias"]),
        _percent(each.get("coverage80")),
    ]


def _signed(fraction: float | None) -> str | None:
    """A bias with its sign: + where we predict too much."""
    return None if fraction is None else f"{fraction * 100:+.1f} %"


def _percent(fraction: float | None) -> str | None:
    """One decimal throughout, so that a column lines up."""
    return None if fraction is None else f"{fraction * 100:.1f} %"


def _short(name: str) -> str:
    name = name or "(no source)"
    return name if len(name) <= _SHORT else name[: _SHORT - 1] + "…"


def _outcomes(memory: dict[str, Any]) -> None:
    if not memory["outcomes"]:
        return
    rows: list[list[object]] = [
        ["runs with a known end", memory["outcomes"]],
        ["of these failed for memory", memory["failures"]],
        ["right best estimate", _percent(memory["fit_accuracy"])],
        ["failures not called `fits`", _percent(memory["oom_recall"])],
        ["runs that ran called `does-not`", _percent(memory["ran_called_does_not"])],
    ]
    print()
    print_table("Does it fit", ["what", "value"], rows)


def _rates(rates: dict[str, Any]) -> None:
    if not rates["n"]:
        return
    rows = [["all", *_cells(rates)[:4]]]
    rows += [[_short(name), *_cells(each)[:4]] for name, each in rates["by_source"].items()]
    print()
    print_table(
        "Rows that state TFLOP/s or MFU only, conventions unknown", ["source", *_COLUMNS[:4]], rows
    )


def _rows(rows: list[dict[str, Any]]) -> None:
    worst = sorted(rows, key=lambda row: -row["ape"])
    print()
    cells = [
        [
            row["id"],
            row["kind"],
            row["model"],
            row["gpu"],
            row["devices"],
            _amount(row, "actual"),
            _amount(row, "predicted"),
            _percent(row["ape"]),
            "yes" if row["low"] <= row["actual"] <= row["high"] else "no",
        ]
        for row in worst
    ]
    columns = ["row", "kind", "model", "accelerator", "devices", "measured", "predicted", "error"]
    print_table("Rows", [*columns, "in interval"], cells)


def _amount(row: dict[str, Any], name: str) -> str:
    return show_bytes(row[name]) if row["kind"] == "memory" else show_duration(row[name])


def _refused(refused: list[dict[str, Any]]) -> None:
    if not refused:
        return
    rows = [[each["line"], each["id"], each["kind"], _cut(each["reason"])] for each in refused]
    print()
    print_table(
        "Refused (those with a time or a peak count as an error of 100 %)",
        ["line", "row", "kind", "reason"],
        rows,
    )


def _cut(text: str) -> str:
    """Both ends of a text that somebody filled with digits."""
    return text if len(text) <= _LONGEST else f"{text[:90]} … {text[-60:]}"


def _problems(problems: list[dict[str, Any]]) -> None:
    for each in problems[:_MOST_PROBLEMS]:
        row = f" ({each['id']})" if each["id"] else ""
        warn(f"line {each['line']}{row}: {each['field']}: {each['value']!r}: {each['reason']}")
    if len(problems) > _MOST_PROBLEMS:
        note(f"{len(problems) - _MOST_PROBLEMS} more problems: --json lists them all")
