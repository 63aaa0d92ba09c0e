"""Logarithmic axes with ticks that people read: 1 and 3 times each power of ten."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

MOST_TICKS = 8


def log_ticks(values: Sequence[float], show: Callable[[float], str]) -> dict[str, Any]:
    """`tickvals` and `ticktext` of a log axis over `values`, few enough to read on a telephone.

    >>> log_ticks([2e9, 5e10], lambda value: f"{value:g}")["ticktext"]
    ['3e+09', '1e+10', '3e+10']
    """
    low, high = min(values), max(values)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [each * 10.0**power for power in range(first, last + 1) for each in (1, 3)]
    inside = [tick for tick in ticks if low <= tick <= high]
    if len(inside) > MOST_TICKS:
        inside = [tick for tick in inside if str(f"{tick:.0e}")[0] == "1"]
    if len(inside) > MOST_TICKS:
        inside = inside[:: math.ceil(len(inside) / MOST_TICKS)]
    if len(inside) < 2:
        inside = [low, math.sqrt(low * high), high]
    return {"type": "log", "tickvals": inside, "ticktext": [show(tick) for tick in inside]}
