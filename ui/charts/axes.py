"""Logarithmic axes with ticks that people read: 1 and 3 times each power of ten."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

FEWEST_TICKS, MOST_TICKS = 3, 7
MARGIN = 0.12  # of a log axis, beyond the outermost value


def log_ticks(
    values: Sequence[float], show: Callable[[float], str], *, most: int = MOST_TICKS
) -> dict[str, Any]:
    """`tickvals` and `ticktext` of a log axis over `values`, few enough to read on a telephone:
    `most` of them, fewer where their texts are long.

    >>> log_ticks([2e9, 5e10], lambda value: f"{value:g}")["ticktext"]
    ['3e+09', '1e+10', '3e+10']
    """
    low, high = min(values), max(values)
    for mantissas in ((1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
        inside = [tick for tick in _ticks(low, high, mantissas) if low <= tick <= high]
        if len(inside) >= FEWEST_TICKS:
            break
    if len(inside) > most:
        inside = [tick for tick in _ticks(low, high, (1,)) if low <= tick <= high]
    if len(inside) > most:
        inside = inside[:: math.ceil(len(inside) / most)]
    if len(inside) < 2:
        inside = [low, high]
    return {"type": "log", "tickvals": inside, "ticktext": [show(tick) for tick in inside]}


def _ticks(low: float, high: float, mantissas: Sequence[float]) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [each * 10.0**power for power in powers for each in mantissas]


def log_reach(values: Sequence[float], limit: float | None = None) -> tuple[float, float]:
    """Ends of a log axis: all values with room, and a limit where it is not far outside.

    >>> [f"{end:.3g}" for end in log_reach([1.0, 1.0], 2.0)]
    ['0.92', '2.17']
    """
    low, high = min(values), max(values)
    if limit is not None and low / 3 < limit < high * 3:
        low, high = min(low, limit), max(high, limit)
    room = max((high / low) ** MARGIN, 1.06)
    return low / room, high * room
