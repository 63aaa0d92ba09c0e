"""Predicted against measured step times of published runs, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import hardware_db
from planner.engine.constants import Constants, constants
from planner.engine.step import step_seconds
from planner.fidelity.batches import take
from planner.fidelity.doubts import row_doubts
from planner.fidelity.fit import TimeRows
from planner.fidelity.leave_one_out import Progress, left_out_constants
from planner.fidelity.scores import Row
from planner.fidelity.spreads import left_out_sigmas, sigmas
from planner.planning.intervals import Z80, table

Array = np.ndarray[Any, np.dtype[Any]]


def left_out_rows(
    rows: TimeRows,
    progress: Progress | None = None,
    found: Mapping[str, Constants] | None = None,
) -> list[Row]:
    """Each row predicted by constants and widths that never saw its source.

    `found` holds the constants by source where the caller has them already.
    """
    found = left_out_constants(rows, progress) if found is None else found
    predicted, doubts = left_out_predictions(rows, found)
    widths = left_out_sigmas(np.log(predicted / rows.actual), doubts, rows.groups, ASSUMED)
    return _rows(rows, predicted, widths)


def left_out_predictions(
    rows: TimeRows, found: Mapping[str, Constants]
) -> tuple[Array, list[tuple[str, ...]]]:
    """Step times in seconds by the constants of each row's source in `found`, and doubts."""
    predicted = np.empty(len(rows.actual))
    doubts: list[tuple[str, ...]] = [()] * len(rows.actual)
    for name, each in found.items():
        index = np.flatnonzero(rows.groups == name)
        predicted[index], doubted = predict_with_doubts(rows, each, index)
        for position, row in zip(index.tolist(), doubted, strict=True):
            doubts[position] = row
    return predicted, doubts


def shipped_rows(rows: TimeRows) -> list[Row]:
    """Each row predicted by the shipped constants and widths."""
    predicted, doubts = predict_with_doubts(rows, constants(), np.arange(len(rows.actual)))
    return _rows(rows, predicted, sigmas(doubts, table("time")))


def predict_with_doubts(
    rows: TimeRows, c: Constants, index: Array
) -> tuple[Array, list[tuple[str, ...]]]:
    """Step times in seconds of the rows at `index`, and the doubts of each."""
    batch = take(rows.batch, index)
    step = step_seconds(batch, c)
    total = np.broadcast_to(step.total, (batch.size,))
    launch = np.broadcast_to(step.launch, (batch.size,)) / total
    doubts = [
        row_doubts(
            case.configuration,
            hardware_db.accelerator(case.configuration.sku),
            float(share),
            case.inferred,
        )
        for case, share in zip((rows.cases[position] for position in index), launch, strict=True)
    ]
    return total, doubts


# what a doubt adds at least, as a deviation of the logarithm: hosts differ in speed by a quarter,
# equal mixtures of experts by up to 1.8 times between two releases of one stack
ASSUMED = {
    "adapters": 0.05,
    "launch_bound": 0.15,
    "memory_figures": 0.1,
    "mixture": 0.15,
    "offload": 0.4,
    "unmeasured_rate": 0.12,
}


def _rows(rows: TimeRows, predicted: Array, widths: Array) -> list[Row]:
    factors = np.exp(Z80 * widths)
    return [
        Row(
            id=case.id,
            source=case.group,
            kind="time",
            actual=float(actual),
            predicted=float(value),
            low=float(value / factor),
            high=float(value * factor),
            inferred=case.inferred,
        )
        for case, actual, value, factor in zip(
            rows.cases, rows.actual, predicted, factors, strict=True
        )
    ]
