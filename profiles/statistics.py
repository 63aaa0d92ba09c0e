"""Robust statistics of a handful of times."""

from __future__ import annotations

import math
from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float:
    """Linear interpolation between order statistics.

    >>> quantile([4.0, 1.0, 3.0, 2.0], 0.5)
    2.5
    """
    assert values
    assert 0 <= share <= 1
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def median(values: Sequence[float]) -> float:
    """The middle value."""
    return quantile(values, 0.5)


def iqr(values: Sequence[float]) -> float:
    """Inter-quartile range; 0 for a single value.

    >>> iqr([1.0, 2.0, 3.0, 4.0, 5.0])
    2.0
    """
    return quantile(values, 0.75) - quantile(values, 0.25)


def relative_width(values: Sequence[float]) -> float:
    """Half width of the median's 95 % interval over the median (McGill et al. 1978: 1.57·IQR/√n).

    >>> relative_width([1.0])
    inf
    """
    if len(values) < 3:
        return math.inf
    middle = median(values)
    return 1.57 * iqr(values) / math.sqrt(len(values)) / middle if middle > 0 else math.inf
