"""A loss curve in characters, for a terminal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.scaling.logs.training_log import Floats

_SEEN, _AHEAD, _INTERVAL = "•", "○", "·"


def text_chart(
    steps: Floats,
    values: Floats,
    *,
    ahead: tuple[Floats, Floats, Floats, Floats] | None = None,
    width: int = 60,
    height: int = 12,
    axis: str = "step",
) -> str:
    """Values against log steps; `ahead` is the forecast as steps, middle, low, high.

    The first thirtieth of the steps is cut off: a start from chance would flatten the rest.
    """
    if ahead is not None and ahead[0][-1] <= 1.02 * ahead[0][0]:
        ahead = None  # nothing left to draw
    later = steps >= steps[-1] / 30.0
    steps, values = steps[later], values[later]
    end = float(steps[-1]) if ahead is None else float(ahead[0][-1])
    edges = np.geomspace(steps[0], max(end, steps[0] * 1.0001), width + 1)
    canvas = np.full((height, width), " ", dtype="<U1")
    seen = _columns(steps, values, edges)
    layers = [seen]
    if ahead is not None:
        layers += [_columns_of_line(ahead[0], line, edges) for line in ahead[1:]]
    drawn = np.concatenate(layers)
    low, high = float(np.nanmin(drawn)), float(np.nanmax(drawn))
    if ahead is not None:
        _draw(canvas, layers[2], low, high, _INTERVAL)
        _draw(canvas, layers[3], low, high, _INTERVAL)
        _draw(canvas, layers[1], low, high, _AHEAD)
    _draw(canvas, seen, low, high, _SEEN)
    return _framed(canvas, (low, high), (float(edges[0]), float(edges[-1])), axis)


def _columns(steps: Floats, values: Floats, edges: Floats) -> Floats:
    """The mean of each column; NaN where it is empty."""
    column = np.clip(np.searchsorted(edges, steps, side="right") - 1, 0, len(edges) - 2)
    total = np.bincount(column, weights=values, minlength=len(edges) - 1)
    count = np.bincount(column, minlength=len(edges) - 1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _columns_of_line(steps: Floats, values: Floats, edges: Floats) -> Floats:
    middle = np.sqrt(edges[:-1] * edges[1:])
    line = np.interp(middle, steps, values)
    return np.where((middle >= steps[0]) & (middle <= steps[-1] * 1.0001), line, np.nan)


def _draw(canvas: NDArray[np.str_], layer: Floats, low: float, high: float, mark: str) -> None:
    height = canvas.shape[0]
    for column in np.flatnonzero(np.isfinite(layer)):
        share = (layer[column] - low) / (high - low) if high > low else 0.5
        canvas[height - 1 - round(share * (height - 1)), column] = mark


def _framed(
    canvas: NDArray[np.str_], levels: tuple[float, float], ends: tuple[float, float], axis: str
) -> str:
    labels = {0: f"{levels[1]:.4g}", len(canvas) - 1: f"{levels[0]:.4g}"}
    margin = max(len(label) for label in labels.values())
    lines = [
        f"{labels.get(row, ''):>{margin}} │{''.join(cells).rstrip()}"
        for row, cells in enumerate(canvas)
    ]
    foot = f"{'':>{margin}} └{'─' * canvas.shape[1]}"
    first, last = (f"{end:,.0f}" if end >= 1000.0 else f"{end:.3g}" for end in ends)
    begin, end = f"{axis} {first}", f"{last} (log scale)"
    gap = " " * max(1, canvas.shape[1] - len(begin) - len(end))
    return "\n".join([*lines, foot, f"{'':>{margin}}  {begin}{gap}{end}"])
