"""A table as people read it and as a program reads it: HTML with swatches, CSV with plain SI."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ui.charts.style import colour

FOLDED_FROM = 6  # columns: such a table becomes a list of cards on a telephone
_INTERVAL = re.compile(r"(?<=\S) (\([^()]*\d[^()]*\))$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: `cells` as shown, `values` as numbers in SI for a program."""

    cells: tuple[str, ...]
    values: tuple[object, ...]
    swatch: str | None = None  # part whose colour stands before the first cell
    strong: bool = False  # a total


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """`columns` head the cells, `names` (with units) head the values."""

    columns: tuple[str, ...]
    names: tuple[str, ...]
    rows: tuple[Row, ...]
    numeric: tuple[int, ...] = ()  # columns set to the right

    def __post_init__(self) -> None:
        for row in self.rows:
            assert len(row.cells) == len(self.columns)
            assert len(row.values) == len(self.names)


def to_html(table: Table, *, caption: str) -> str:
    """The table as HTML; every text is escaped. `caption` is for readers who do not see it.

    Each cell knows its column, for the cards of a telephone; roles are said because a table that
    is laid out as cards loses them.
    """
    head = "".join(
        f'<th scope="col" role="columnheader"{_side(table, index)}>{escape(name)}</th>'
        for index, name in enumerate(table.columns)
    )
    body = "".join(_row(table, row) for row in table.rows)
    look = "fr-table fr-fold" if len(table.columns) >= FOLDED_FROM else "fr-table"
    return (
        f'<div class="fr-scroll"><table class="{look}" role="table">'
        f"<caption>{escape(caption)}</caption>"
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{body}</tbody></table></div>'
    )


def _side(table: Table, index: int) -> str:
    return ' class="fr-n"' if index in table.numeric else ""


def _row(table: Table, row: Row) -> str:
    swatch = ""
    if row.swatch:
        swatch = f'<i class="fr-swatch" style="background:{colour(row.swatch)}"></i>'
    cells = [
        f'<th scope="row" role="rowheader">{swatch}{escape(cell)}</th>'
        if index == 0
        else f'<td role="cell" data-column="{escape(table.columns[index])}"'
        f"{_side(table, index)}>{_shown(table, index, cell)}</td>"
        for index, cell in enumerate(row.cells)
    ]
    return f'<tr role="row"{" class=fr-total" if row.strong else ""}>{"".join(cells)}</tr>'


def _shown(table: Table, index: int, cell: str) -> str:
    return _interval_apart(escape(cell)) if index in table.numeric else escape(cell)


def _interval_apart(cell: str) -> str:
    """An interval behind a figure as an element of its own, which narrow tables set below it.

    >>> _interval_apart("2.85 days (2.14 to 3.79)")
    '2.85 days <span class="fr-interval">(2.14 to 3.79)</span>'
    """
    return _INTERVAL.sub(r' <span class="fr-interval">\1</span>', cell)


def to_csv(table: Table) -> str:
    """The table's values, full precision; unknown is empty.

    >>> row = Row(cells=("matmul", "8.98 s"), values=("matmul", 8.978))
    >>> print(to_csv(Table(columns=("part", "time"), names=("part", "s"), rows=(row,))), end="")
    part,s
    matmul,8.978
    """
    return _csv([table.names, *(row.values for row in table.rows)])


def _csv(rows: Sequence[Sequence[object]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([["" if value is None else _plain(value) for value in row] for row in rows])
    return file.getvalue()


def _plain(value: object) -> object:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+@" else value
