"""Columns of several runs that are one run, restarted.

An export of a tracking server names a column `RUN - METRIC`. Runs that resume one another cover
overlapping ranges of steps; runs side by side (seeds, sweeps) begin together.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from planner.scaling.logs.training_log import Series

_SEPARATOR = " - "


def merge_run_columns(metrics: dict[str, Series]) -> tuple[dict[str, Series], list[str]]:
    """`metrics` with the segments of restarted runs joined, and a note for each join."""
    groups: dict[str, list[Series]] = {}
    for name, series in metrics.items():
        groups.setdefault(_metric_of(name), []).append(series)
    merged: dict[str, Series] = {}
    notes: list[str] = []
    for metric, parts in groups.items():
        if len(parts) == 1 or not _are_segments(parts):
            merged.update({part.name: part for part in parts})
            continue
        merged[metric] = _joined(metric, parts)
        notes.append(f"{metric}: {len(parts)} run segments merged, the later one where they meet")
    return merged, notes


def _metric_of(name: str) -> str:
    return name.rsplit(_SEPARATOR, 1)[1] if _SEPARATOR in name else name


def _are_segments(parts: list[Series]) -> bool:
    """Each begins well after the one before it, and ends after it."""
    parts = sorted(parts, key=lambda part: float(part.steps[0]))
    span = max(float(part.steps[-1]) for part in parts) - float(parts[0].steps[0])
    pairs = list(pairwise(parts))
    later = all(b.steps[0] - a.steps[0] > 0.02 * span for a, b in pairs)
    return later and all(b.steps[-1] > a.steps[-1] for a, b in pairs)


def _joined(metric: str, parts: list[Series]) -> Series:
    parts = sorted(parts, key=lambda part: float(part.steps[0]))
    ends = [float(part.steps[0]) for part in parts[1:]] + [np.inf]
    kept = [part.steps < end for part, end in zip(parts, ends, strict=True)]
    return Series(
        name=metric,
        steps=np.concatenate([part.steps[keep] for part, keep in zip(parts, kept, strict=True)]),
        values=np.concatenate([part.values[keep] for part, keep in zip(parts, kept, strict=True)]),
        weights=np.concatenate(
            [part.weights[keep] for part, keep in zip(parts, kept, strict=True)]
        ),
        num_points=sum(part.num_points for part in parts),
        num_nonfinite=sum(part.num_nonfinite for part in parts),
        trailing_nonfinite=parts[-1].trailing_nonfinite,
    )
