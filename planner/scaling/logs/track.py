"""One quantity against steps, kept in bounded memory however long the log."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CAPACITY = 1 << 16  # points kept of one quantity; a longer log is averaged into that many

_LARGEST = 1e100  # of a quantity that is no overflow; the squares of larger ones would be
_MOST_PARTS = 64  # arrays that are held before they are joined


class Track:
    """Points in the order of the log; a step that goes back is a restart and replaces what it
    overlaps. Beyond `capacity` points neighbours are averaged (`keep="mean"`) or thinned to the
    last of each group (`keep="last"`, for clocks and counters).
    """

    def __init__(self, *, keep: str = "mean", capacity: int = CAPACITY) -> None:
        assert keep in ("mean", "last"), keep
        self.keep, self.capacity = keep, capacity
        self.num_points = 0  # finite values seen
        self.num_nonfinite = 0
        self.trailing_nonfinite = 0  # non-finite values after the last finite one
        self.num_backward = 0  # times the step went back
        self.num_replaced = 0  # points that a restart replaced
        self.last_step = -np.inf
        self._parts: list[tuple[Floats, Floats, Floats]] = []
        self._held = 0

    def append(self, steps: Floats, values: Floats) -> None:
        """Add a block of points, arrays of equal length, in the order of the log."""
        finite = np.abs(values) < _LARGEST  # not so of NaN
        self._count_nonfinite(finite)
        steps, values = steps[finite], values[finite]
        if len(steps) == 0:
            return
        back = np.flatnonzero(steps[1:] < steps[:-1]) + 1
        for begin, end in pairwise((0, *back.tolist(), len(steps))):
            self._extend(steps[begin:end], values[begin:end])

    def _count_nonfinite(self, finite: NDArray[np.bool_]) -> None:
        self.num_points += int(finite.sum())
        self.num_nonfinite += int((~finite).sum())
        where = np.flatnonzero(finite)
        after = len(finite) - 1 - int(where[-1]) if len(where) else len(finite)
        self.trailing_nonfinite = after if len(where) else self.trailing_nonfinite + after

    def _extend(self, steps: Floats, values: Floats) -> None:
        if steps[0] < self.last_step:
            self.num_backward += 1
            self.truncate(float(steps[0]))
        self._parts.append((steps, values, np.ones(len(steps))))
        self._held += len(steps)
        self.last_step = float(steps[-1])
        if self._held > 2 * self.capacity:
            self._compact()
        elif len(self._parts) > _MOST_PARTS:
            self._store(*self.arrays())

    def truncate(self, step: float) -> None:
        """Forget the points at `step` and after it."""
        steps, values, weights = self.arrays()
        kept = int(np.searchsorted(steps, step, side="left"))
        self.num_replaced += int(weights[kept:].sum())
        self._store(steps[:kept], values[:kept], weights[:kept])

    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """Steps (never falling), values, and how many points each stands for."""
        if not self._parts:
            return np.empty(0), np.empty(0), np.empty(0)
        steps, values, weights = (
            np.concatenate(column) for column in zip(*self._parts, strict=True)
        )
        return steps, values, weights

    def merged(self) -> tuple[Floats, Floats, Floats]:
        """`arrays`, with the points of one step made one (mean or last)."""
        steps, values, weights = self.arrays()
        if len(steps) < 2 or (np.diff(steps) > 0).all():
            return steps, values, weights
        starts = np.flatnonzero(np.diff(steps, prepend=-np.inf) > 0)
        return self._grouped(steps, values, weights, starts)

    def value_before(self, step: float) -> tuple[float, float] | None:
        """The last (step, value) before `step`."""
        steps, values, _ = self.arrays()
        kept = int(np.searchsorted(steps, step, side="left"))
        return (float(steps[kept - 1]), float(values[kept - 1])) if kept else None

    def _compact(self) -> None:
        steps, values, weights = self.arrays()
        target = weights.sum() / self.capacity
        group = np.floor((np.cumsum(weights) - 0.5 * weights) / target)
        starts = np.flatnonzero(np.diff(group, prepend=-1.0) > 0)
        self._store(*self._grouped(steps, values, weights, starts))

    def _grouped(
        self, steps: Floats, values: Floats, weights: Floats, starts: NDArray[np.intp]
    ) -> tuple[Floats, Floats, Floats]:
        total = np.add.reduceat(weights, starts)
        if self.keep == "last":
            ends = np.append(starts[1:], len(steps)) - 1
            return steps[ends], values[ends], total
        mean_step = np.add.reduceat(steps * weights, starts) / total
        mean_value = np.add.reduceat(values * weights, starts) / total
        return mean_step, mean_value, total

    def _store(self, steps: Floats, values: Floats, weights: Floats) -> None:
        self._parts = [(steps, values, weights)] if len(steps) else []
        self._held = len(steps)
        self.last_step = float(steps[-1]) if len(steps) else -np.inf
