"""Pieces of a Markdown page."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 100  # characters of a line of prose


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table; unknown (None) is a dash.

    >>> print(table(["source", "error"], [["a", None]]))
    | source | error |
    |---|---|
    | a | – |
    """
    lines = [columns, ["---"] * len(columns), *rows]
    texts = ["|" + "|".join(_cell(cell) for cell in line) + "|" for line in lines]
    return "\n".join(texts)


def _cell(value: object) -> str:
    if value == "---":
        return "---"
    return f" {'–' if value is None else str(value).replace('|', '/')} "


def prose(text: str) -> str:
    """Paragraphs and bullets (lines that begin with `- `), each wrapped anew.

    >>> print(prose("one\\ntwo\\n\\n- three\\n  four"))
    one two
    <BLANKLINE>
    - three four
    """
    blocks = text.strip().split("\n\n")
    return "\n\n".join(_wrapped(block) for block in blocks)


def _wrapped(block: str) -> str:
    items: list[str] = []
    for line in block.splitlines():
        if line.startswith("- ") or not items:
            items.append(line)
        else:
            items[-1] += " " + line
    return "\n".join(_filled(" ".join(item.split())) for item in items)


def _filled(text: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        subsequent_indent="  " if text.startswith("- ") else "",
        break_long_words=False,
        break_on_hyphens=False,
    )


def percent(fraction: float | None) -> str | None:
    """A fraction with one decimal.

    >>> percent(0.0957), percent(None)
    ('9.6 %', None)
    """
    return None if fraction is None else f"{fraction * 100:.1f} %"


def signed(fraction: float | None) -> str | None:
    """A bias with its sign.

    >>> signed(-0.05)
    '-5.0 %'
    """
    return None if fraction is None else f"{fraction * 100:+.1f} %"
