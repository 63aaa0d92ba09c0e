"""One JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from planner.scaling.logs.columns import Columns, classify
from planner.scaling.logs.keyed import Grammar, Key, read_keyed
from planner.scaling.logs.sink import Sink
from planner.scaling.logs.source import Source

FORMAT = "json lines"


def recognise(source: Source) -> int:
    """How many lines of the head are objects, where any of them counts steps."""
    rows = _rows(source)
    return len(rows) if classify(_names(rows)) else 0


def read(source: Source, sink: Sink) -> None:
    """Every numeric field; fields of nested objects are named `outer/inner`."""
    rows = _rows(source)
    names = _names(rows)
    columns = classify(names)
    assert columns is not None
    sink.axis = columns.axis
    simple = all(not isinstance(value, dict | list | str) for row in rows for value in row.values())
    if simple:
        read_keyed(source, sink, _grammar(names, columns))
    else:
        _read_slowly(source, sink, names, columns)


def _rows(source: Source) -> list[dict[str, object]]:
    return [row for line in source.first_lines if (row := _parsed(line)) is not None]


def _parsed(line: str) -> dict[str, object] | None:
    if not line.lstrip().startswith("{"):
        return None
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _names(rows: list[dict[str, object]]) -> list[str]:
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(_flat(row)))
    return list(names)


def _flat(row: dict[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{name}/"))
        else:
            flat[prefix + name] = value
    return flat


def _grammar(names: list[str], columns: Columns) -> Grammar:
    def literal(name: str) -> bytes:
        return f"{json.dumps(name, ensure_ascii=False)}:".encode()

    keys = tuple(
        Key(
            literal=literal(names[column.index]),
            name="" if column.kind in ("elapsed", "per-step") else column.name,
            kind=column.kind,
            scale=column.scale,
        )
        for column in columns.read
    )
    step = Key(literal=literal(names[columns.step]), name="step", kind="step")
    return Grammar(steps=(step,), keys=keys)


def _read_slowly(source: Source, sink: Sink, names: list[str], columns: Columns) -> None:
    for block in source.blocks():
        sink.bytes_read += len(block)
        lines = block.decode("utf-8", "replace").splitlines()
        rows = [_flat(row) for line in lines if (row := _parsed(line)) is not None]
        sink.count_lines(len(lines), len(rows))
        steps = np.array([_number(row.get(names[columns.step])) for row in rows])
        for column in columns.read:
            field = names[column.index]
            there = np.array([field in row for row in rows], dtype=np.bool_)
            values = np.array(list(_values(rows, field)))
            name = "" if column.kind in ("elapsed", "per-step") else column.name
            if there.any() and not np.isnan(values[there]).all():
                sink.add(column.kind, name, steps[there], values[there] * column.scale)


def _values(rows: list[dict[str, object]], field: str) -> Iterator[float]:
    return (_number(row.get(field)) for row in rows)


def _number(value: object) -> float:
    if isinstance(value, bool) or value is None:
        return float("nan")
    try:
        return float(str(value))
    except ValueError:
        return float("nan")
