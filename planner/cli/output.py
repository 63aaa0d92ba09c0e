"""What commands print: JSON, tables and notes. Answers go to standard output, the rest to error."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

_GAP = "  "
_LONGEST_NUMBER = 28  # characters of a number with its unit and interval; longer is a sentence
_LONGEST_WORD = 32  # characters of a word that a squeezed table still keeps whole


def print_json(answer: Any) -> None:
    """Print one JSON object. A NaN or an infinity is a fault of ours and raises ValueError."""
    print(json.dumps(plain(answer), indent=2, allow_nan=False))


def plain(value: Any) -> Any:
    """Dataclasses, tuples, enums, paths and array scalars as what JSON knows."""
    if value is None or isinstance(value, str | bool | int | float):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, Enum):
        return plain(value.value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in dataclasses.fields(value))
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Sequence | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # arrays and their scalars
        return plain(value.tolist())
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def note(text: str) -> None:
    """Something worth knowing, on standard error."""
    print(f"note: {text}", file=sys.stderr)


def warn(text: str) -> None:
    """Something that may be wrong with the answer, on standard error."""
    print(f"warning: {text}", file=sys.stderr)


def print_table(
    title: str | None, columns: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    """Print aligned columns; numbers to the right, unknown (None) as a dash.

    The width is the terminal's or COLUMNS; a pipe without COLUMNS gets whole lines. A table wraps
    between words to fit; numbers and names are never broken.
    """
    print(format_table(title, columns, rows, width=output_width(), bold=takes_colour()))


def format_table(
    title: str | None,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    width: int | None = None,
    bold: bool = False,
) -> str:
    """The table as text; where it is wider than `width`, columns wrap.

    >>> print(format_table("Parts", ["part", "ms"], [["matmul", "412"], ["launch", None]]))
    Parts
    part     ms
    matmul  412
    launch    -
    """
    cells = [["-" if item is None else str(item) for item in row] for row in rows]
    assert all(len(row) == len(columns) for row in cells), "a row has a cell for each column"
    right = [_is_numeric([row[i] for row in cells]) for i in range(len(columns))]
    filled = [[name, *(row[i] for row in cells)] for i, name in enumerate(columns)]
    whole = [max(map(_width, column)) for column in filled]
    floors = [
        size if number else min(_LONGEST_WORD, max(map(_longest_word, column)))
        for size, number, column in zip(whole, right, filled, strict=True)
    ]
    widths = _fitted(whole, floors, width)
    lines = _lines(list(columns), widths, right)
    if bold:
        lines = [f"\x1b[1m{line}\x1b[0m" for line in lines]
    for row in cells:
        lines += _lines(row, widths, right)
    return "\n".join([title, *lines] if title else lines)


def output_width() -> int | None:
    """Characters per line, or None where lines may be as long as they are."""
    if os.environ.get("COLUMNS", "").isdigit() and int(os.environ["COLUMNS"]) > 0:
        return int(os.environ["COLUMNS"])
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def takes_colour() -> bool:
    """Whether standard output is a terminal that wants colour."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _width(text: str) -> int:
    """Terminal cells that a text takes: two for a wide character."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _longest_word(text: str) -> int:
    return max(map(_width, text.split()), default=0)


def _fitted(widths: list[int], floors: list[int], total: int | None) -> list[int]:
    """Take from the widest columns until the table fits or all have come down to their floors."""
    fitted = list(widths)
    while total is not None and sum(fitted) + len(_GAP) * (len(fitted) - 1) > total:
        spare = [i for i, width in enumerate(fitted) if width > floors[i]]
        if not spare:
            break
        fitted[max(spare, key=lambda i: fitted[i])] -= 1
    return fitted


def _is_numeric(cells: list[str]) -> bool:
    """Whether a column holds numbers, which may carry a sign, a currency or a unit."""
    known = [cell for cell in cells if cell not in ("-", "unknown")]
    return bool(known) and all(
        cell.lstrip("+-$~<≈ ")[:1].isdigit() and len(cell) <= _LONGEST_NUMBER for cell in known
    )


def _lines(row: list[str], widths: list[int], right: list[bool]) -> list[str]:
    wrapped = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    height = max(map(len, wrapped))
    lines = []
    for level in range(height):
        parts = [levels[level] if level < len(levels) else "" for levels in wrapped]
        padded = [_pad(*part) for part in zip(parts, widths, right, strict=True)]
        lines.append(_GAP.join(padded).rstrip())
    return lines


def _wrapped(cell: str, width: int) -> list[str]:
    return (
        [cell]
        if _width(cell) <= width
        else textwrap.wrap(cell, width, break_on_hyphens=False) or [""]
    )


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * max(0, width - _width(text))
    return space + text if right else text + space
