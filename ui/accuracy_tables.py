"""The tables of the Accuracy page, from the answer of `forerun validate --json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.quantities import show_percent, show_whole
from ui.table import Row, Table
from ui.text import Words


def by_source(time: Mapping[str, Any], words: Words) -> Table:
    """Errors and coverage of the step time by source, the whole last."""
    rows = [
        _row(name, row, strong=False)
        for name, row in sorted(time["by_source"].items(), key=lambda item: item[1]["median_ape"])
    ]
    rows.append(_row(words("plan.total"), time, strong=True))
    return Table(
        columns=(
            words("accuracy.source"),
            words("accuracy.n"),
            words("accuracy.median_short"),
            words("accuracy.p90_short"),
            words("accuracy.bias"),
            words("accuracy.coverage_short"),
        ),
        names=("source", "n", "median_ape", "p90_ape", "bias", "coverage80"),
        rows=tuple(rows),
        numeric=(1, 2, 3, 4, 5),
    )


def _row(name: str, row: Mapping[str, Any], *, strong: bool) -> Row:
    shares = [row.get(key) for key in ("median_ape", "p90_ape", "bias", "coverage80")]
    return Row(
        cells=(name, show_whole(row["n"]), *map(_signed, shares)),
        values=(name, row["n"], *shares),
        strong=strong,
    )


def _signed(share: float | None) -> str:
    """A share whose sign is a minus, as in other tables.

    >>> _signed(-0.0244), _signed(0.5)
    ('−2.44 %', '50 %')
    """
    return show_percent(share).replace("-", "−")


def refused(rows: Sequence[Mapping[str, Any]], words: Words) -> Table:
    """Rows that could not be planned, each with its reason."""
    return Table(
        columns=(words("accuracy.row"), words("accuracy.reason")),
        names=("id", "reason"),
        rows=tuple(
            Row(cells=(str(row["id"]), str(row["reason"])), values=(row["id"], row["reason"]))
            for row in rows
        ),
    )


def all_rows(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Every compared row, for a download."""
    names = ("id", "source", "kind", "actual", "predicted", "low", "high", "ape")
    return Table(
        columns=names,
        names=names,
        rows=tuple(
            Row(
                cells=tuple(str(row.get(name)) for name in names),
                values=tuple(row.get(name) for name in names),
            )
            for row in rows
        ),
    )


def within(rows: Sequence[Mapping[str, Any]], factor: float = 1.25) -> float:
    """Share of predictions within a factor of their measurement.

    >>> within([{"actual": 1.0, "predicted": 1.2}, {"actual": 2.0, "predicted": 1.0}])
    0.5
    """
    ratios = [float(row["predicted"] / row["actual"]) for row in rows]
    return sum(1 / factor <= ratio <= factor for ratio in ratios) / len(ratios)
