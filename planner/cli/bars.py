"""Named parts of a whole as aligned lines with bars, for a terminal or a pipe."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Mapping

from planner.cli.output import output_width, takes_colour

WIDTH = 80  # characters of a line where the output is no terminal
MOST_WIDTH = 100  # characters: longer lines are hard to read
BAR = 28  # characters of a full bar
SMALLEST = 0.005  # share under which a part joins the rest

_KEPT = "\u00a0"  # a space that no line is broken at, replaced before printing
_UNIT = re.compile(r"(\d) (%|[A-Za-z$µ][\w/]{0,8}\b)")  # a number and its unit

_STYLES = {"bold": "1", "green": "1;32", "yellow": "1;33", "red": "1;31", "dim": "2"}


def paint(text: str, style: str) -> str:
    """`text` in a style on a terminal, plain elsewhere."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if takes_colour() else text


def width() -> int:
    """Characters per line of running text."""
    return min(output_width() or WIDTH, MOST_WIDTH)


def line(label: str, text: str, *, indent: int = 2, column: int = 9) -> str:
    """A labelled line, continued under its text where it is too long."""
    head = " " * indent + f"{label:<{column}}"
    filled = textwrap.fill(
        _UNIT.sub(rf"\1{_KEPT}\2", text),
        max(width(), 40),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_on_hyphens=False,
        break_long_words=False,
    )
    return filled.replace(_KEPT, " ")


def bars(parts: Mapping[str, float], show: Callable[[float], str], *, whole: float) -> list[str]:
    """One line per part, the largest first: name, size, share of `whole`, bar.

    Parts that are a half per cent or less are summed up in one line.
    """
    large = {name: size for name, size in parts.items() if size >= SMALLEST * whole}
    rest = sum(parts.values()) - sum(large.values())
    rows = sorted(large.items(), key=lambda row: -row[1])
    if any(digit in "123456789" for digit in show(rest)):  # none where the unit shows only zeros
        rows.append(("other", rest))
    names = max((len(name) for name, _ in rows), default=0)
    sizes = max((len(show(size)) for _, size in rows), default=0)
    return [
        f"  {_said(name):<{names}}  {show(size):>{sizes}}  {share(size, whole):>5}  "
        f"{bar(size / whole)}".rstrip()
        for name, size in rows
    ]


def in_one_unit(size: float, unit: str) -> Callable[[float], str]:
    """Sizes as multiples of `size`, with as many decimals as show three digits of one unit.

    >>> in_one_unit(1024.0**3, "GiB")(5.02e8)
    '0.47 GiB'
    """
    return lambda value: f"{value / size:,.2f} {unit}"


def share(size: float, whole: float) -> str:
    """A share as a whole percentage."""
    percent = 100 * size / whole
    return f"{percent:.0f} %" if percent >= 1 else "<1 %"


def bar(fraction: float) -> str:
    """A bar of at most `BAR` characters; what exceeds the whole is cut."""
    return _block() * round(BAR * min(max(fraction, 0.0), 1.0))


def _block() -> str:
    encoding = (sys.stdout.encoding or "").lower()
    return "█" if encoding.startswith("utf") else "#"


def _said(name: str) -> str:
    return name.replace("_", " ")
