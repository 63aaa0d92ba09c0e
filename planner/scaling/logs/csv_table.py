"""Tables of comma-separated values: Lightning, Keras, tracking servers, plain `step,loss`."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

import numpy as np

from planner.errors import PlannerError
from planner.scaling.logs.columns import Column, Columns, classify
from planner.scaling.logs.digits import Bytes, Floats, Places
from planner.scaling.logs.numbers import padded, parse_numbers, skip_spaces
from planner.scaling.logs.sink import Sink
from planner.scaling.logs.source import Source

FORMAT = "csv"
_DELIMITERS = (",", "\t", ";", " ")
_NUMBER = re.compile(r'"?\s*[-+]?(?:\.?\d[\d.]*(?:e[-+]?\d+)?|nan|inf)\s*"?', re.IGNORECASE)
_QUOTE = ord('"')
_MOST_HEADER_LINES = 20  # lines passed over before the header is given up on


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    delimiter: str
    num_columns: int
    columns: Columns
    data_starts: int  # line of the file on which data begin


def recognise(source: Source) -> int:
    """Rows that look like one table with a step column; 0 where there is none."""
    try:
        layout = _layout(source)
    except PlannerError:
        return 1
    if layout is None:
        return 0
    lines = source.first_lines[layout.data_starts :]
    rows = _split(lines, layout.delimiter)
    full = [row for row in rows if len(row) == layout.num_columns]
    numeric = sum(_NUMBER.match(row[layout.columns.step]) is not None for row in full)
    return max(numeric, 1) if 2 * numeric > len(rows) or not rows else 0


def read(source: Source, sink: Sink) -> None:
    """Every numeric column, streamed."""
    layout = _layout(source)
    assert layout is not None
    sink.axis = layout.columns.axis
    if layout.columns.ignored:
        sink.note(f"{len(layout.columns.ignored)} minimum, maximum or unnamed columns ignored")
    skip = layout.data_starts
    for block in source.blocks():
        sink.bytes_read += len(block)
        if skip:
            lines = block.split(b"\n", skip)
            skip -= min(skip, len(lines) - 1)
            block = lines[-1]
        if block:
            _read_block(block, layout, sink)


def _split(lines: list[str], delimiter: str) -> list[list[str]]:
    """The cells of each line; nothing where they are no table (a cell of a megabyte, say)."""
    try:
        return list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return []


def _layout(source: Source) -> _Layout | None:
    lines = source.first_lines
    for number, line in enumerate(lines[:_MOST_HEADER_LINES]):
        if not line.strip() or line.startswith("#"):
            continue
        for delimiter in _DELIMITERS:
            names = (_split([line], delimiter) or [[]])[0]
            if len(names) < 2:
                continue
            if all(_NUMBER.fullmatch(name) for name in names):
                return _without_header(source, names, delimiter, number)
            columns = classify(names)
            if columns is not None and delimiter != " ":
                return _Layout(
                    delimiter=delimiter,
                    num_columns=len(names),
                    columns=columns,
                    data_starts=number + 1,
                )
        return None
    return None


def _without_header(source: Source, names: list[str], delimiter: str, number: int) -> _Layout:
    if len(names) != 2:
        raise PlannerError(
            "log",
            source.path,
            f"a table of {len(names)} columns without names: add a header such as "
            "step,train_loss,val_loss",
        )
    columns = classify(["step", "loss"])
    assert columns is not None
    return _Layout(delimiter=delimiter, num_columns=2, columns=columns, data_starts=number)


def _read_block(block: bytes, layout: _Layout, sink: Sink) -> None:
    text = padded(block)
    starts, ends, lines, irregular = _fields(text, layout)
    if irregular and b'"' in block:
        _read_quoted(block, layout, sink)
        return
    sink.count_lines(lines, len(starts))
    steps, _ = _column(text, starts, ends, layout.columns.step, layout.delimiter)
    for column in layout.columns.read:
        values, unreadable = _column(text, starts, ends, column.index, layout.delimiter)
        _add(column, steps, values, unreadable, sink)


def _fields(text: Bytes, layout: _Layout) -> tuple[Places, Places, int, int]:
    """Starts and ends of the fields of each full row, [rows, columns]; lines; irregular lines."""
    newline = ord("\n")
    marks = np.flatnonzero((text == ord(layout.delimiter)) | (text == newline))
    row_ends = np.flatnonzero(text[marks] == newline)
    counts = np.diff(row_ends, prepend=-1)
    full = row_ends[counts == layout.num_columns]
    blank = int((counts == 1).sum()) if layout.num_columns > 1 else 0
    index = full[:, None] + np.arange(1 - layout.num_columns, 1)
    before = np.concatenate(([-1], marks))
    starts, ends = before[index] + 1, marks[index]
    return starts, ends, len(row_ends), len(row_ends) - len(full) - blank


def _column(
    text: Bytes, starts: Places, ends: Places, index: int, delimiter: str
) -> tuple[Floats, int]:
    """The values of a column (NaN where empty), and how many could not be read."""
    begin, end = skip_spaces(text, starts[:, index]), ends[:, index]
    begin = begin + (text[begin] == _QUOTE)
    filled = np.flatnonzero((begin < end) & (text[begin] != _QUOTE))
    values = np.full(len(begin), np.nan)
    comma = "ends" if delimiter == "," else "belongs"
    numbers, found = parse_numbers(text, begin[filled], comma=comma)
    present = np.where(found, np.where(np.isnan(numbers), np.inf, numbers), np.nan)
    values[filled] = present
    return values, int((~found).sum())


def _add(column: Column, steps: Floats, values: Floats, unreadable: int, sink: Sink) -> None:
    """Empty cells are no points; a written NaN (kept as inf) is a non-finite one."""
    filled = ~np.isnan(values)
    if column.kind == "metric" and filled.any():
        sink.count_unreadable(unreadable)
    if filled.any():
        sink.add(column.kind, _name(column), steps[filled], values[filled] * column.scale)


def _name(column: Column) -> str:
    return "" if column.kind in ("elapsed", "per-step") else column.name


def _read_quoted(block: bytes, layout: _Layout, sink: Sink) -> None:
    """The slow way, for text fields that hold delimiters."""
    text = block.decode("utf-8", "replace")
    rows = _split(text.splitlines(), layout.delimiter)
    full = [row for row in rows if len(row) == layout.num_columns]
    sink.count_lines(len(rows), len(full))
    if not full:
        return
    steps = np.array([_number(row[layout.columns.step]) for row in full])
    for column in layout.columns.read:
        cells = [row[column.index] for row in full]
        values = np.array([_number(cell) for cell in cells])
        filled = np.array([bool(cell.strip()) for cell in cells], dtype=np.bool_)
        _add(column, steps, values, int((filled & np.isnan(values)).sum()), sink)


def _number(cell: str) -> float:
    cell = cell.strip()
    if cell.lower() == "nan":
        return np.inf
    try:
        return float(cell)
    except ValueError:
        return np.nan
