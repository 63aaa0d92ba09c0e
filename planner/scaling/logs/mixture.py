"""Two metrics written under one name look like one very strange curve."""

from __future__ import annotations

import numpy as np

from planner.errors import PlannerError
from planner.scaling.logs.track import Floats

_FEWEST = 12  # points; fewer cannot tell a mixture from noise
_LEAST_RATIO = 1.5  # between the two levels
_LEAST_NOISES = 8.0  # the gap, in changes between neighbours of one level


def assert_one_metric(path: str, name: str, steps: Floats, values: Floats) -> None:
    """Raise `PlannerError` where the values belong to two separate levels."""
    finite = np.isfinite(values)
    steps, values = steps[finite], values[finite]
    if len(values) < _FEWEST:
        return
    if _alternates(values):
        _refuse(path, name, values[::2], values[1::2])
    twice = np.flatnonzero(np.diff(steps) == 0)
    if len(twice) >= _FEWEST // 2 and _disagree(values[twice], values[twice + 1]):
        _refuse(path, name, values[twice], values[twice + 1])


def _refuse(path: str, name: str, some: Floats, others: Floats) -> None:
    raise PlannerError(
        "log",
        path,
        f"{name} jumps between about {np.median(some):.4g} and {np.median(others):.4g}: two "
        "metrics seem to share one name; give each its own column",
    )


def _disagree(some: Floats, others: Floats) -> bool:
    """The values of one step differ by more than `_LEAST_RATIO`, the same way each time."""
    larger = np.abs(some) > _LEAST_RATIO * np.abs(others)
    smaller = np.abs(others) > _LEAST_RATIO * np.abs(some)
    return bool(larger.all() or smaller.all())


def _alternates(values: Floats) -> bool:
    even, odd = values[: len(values) // 2 * 2 : 2], values[1::2]
    gaps = even - odd
    one_sided = bool((gaps > 0).all() or (gaps < 0).all())
    within = max(_typical_change(even), _typical_change(odd))
    gap = float(np.median(np.abs(gaps)))
    low, high = sorted((abs(float(np.median(even))), abs(float(np.median(odd)))))
    return one_sided and high > _LEAST_RATIO * low and gap > _LEAST_NOISES * within


def _typical_change(values: Floats) -> float:
    return float(np.median(np.abs(np.diff(values))))
