"""Predicted against reported device-hours of whole training runs.

Steps times step time, plus checkpoints, start-up and failures as `forerun plan` assumes them. The
reports hold more: evaluation, idle devices, restarts by hand, rounding. That adds a deviation
of its own to the step's; for each total it is measured on the others. No total had a part in the
fit of the constants.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.assumptions import assumed
from planner.engine.constants import Constants, constants
from planner.engine.run_length import Interruptions, run_seconds
from planner.fidelity.batches import take
from planner.fidelity.fit import TimeRows
from planner.fidelity.rates import untimed_rows
from planner.fidelity.scores import Row
from planner.fidelity.spreads import LEVEL
from planner.fidelity.time import predict_with_doubts
from planner.fidelity.whole_runs import WholeRun
from planner.planning.intervals import Z80, Spread
from planner.planning.phases import checkpoint_bytes

Array = np.ndarray[Any, np.dtype[Any]]

HOUR = 3600.0  # s

# whose rows in the table of step times come from the same people and code as a total, by a part
# of the total's source: their constants leave that source out
RELATIVES = {
    "TinyLlama": "jzhang38/TinyLlama",
    "PaLM-pytorch": "LLaMA paper (quoted in lucidrains/PaLM-pytorch issue 13)",
    "mpt-7b": "mosaicml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """One run's total, predicted and reported; the row's values are device-hours."""

    run: WholeRun
    row: Row


def totals(
    runs: Sequence[WholeRun], found: Mapping[str, Constants], spreads: Mapping[str, float]
) -> list[Total]:
    """Every run's device-hours with its 80 % interval.

    `found` holds constants by source, fitted without it; `spreads` the base deviation of a step
    time and what each doubt adds. Settings that nobody documents (low confidence) are guessed.
    """
    logs, sigmas = total_logs(runs, found, spreads)
    hours = np.exp(logs) * np.array([run.device_hours for run in runs])
    found_totals = []
    for index, run in enumerate(runs):
        others = np.arange(len(runs)) != index
        extra = run_spread(logs[others], sigmas[others])
        sigma = math.hypot(float(sigmas[index]), extra)
        found_totals.append(_total(run, float(hours[index]), Spread(sigma=sigma)))
    return found_totals


def run_spread(logs: Array, sigmas: Array) -> float:
    """Deviation beyond the step's, at which 80 % of the totals lie inside their intervals.

    `logs` holds log(predicted / reported), `sigmas` the deviation of each step time's logarithm.
    """
    low, high = 0.0, 3.0
    for _ in range(60):
        middle = (low + high) / 2
        covered = np.mean(np.abs(logs) <= Z80 * np.hypot(sigmas, middle))
        low, high = (middle, high) if covered < LEVEL else (low, middle)
    return float(high)


def total_logs(
    runs: Sequence[WholeRun], found: Mapping[str, Constants], spreads: Mapping[str, float]
) -> tuple[Array, Array]:
    """log(predicted / reported) of every total, and the deviation of its step time."""
    rows = untimed_rows([run.case for run in runs])
    parts = [_predicted(rows, index, run, found, spreads) for index, run in enumerate(runs)]
    hours, sigmas = (np.array(column) for column in zip(*parts, strict=True))
    return np.log(hours / np.array([run.device_hours for run in runs])), sigmas


def _predicted(
    rows: TimeRows,
    index: int,
    run: WholeRun,
    found: Mapping[str, Constants],
    spreads: Mapping[str, float],
) -> tuple[float, float]:
    """Device-hours, and the deviation of the step time's logarithm."""
    where = np.array([index])
    step, doubts = predict_with_doubts(rows, _constants(run, found), where)
    names = set(doubts[0]) - {"guessed"}
    if run.confidence == "low":
        names.add("guessed")
    return _device_hours(rows, where, run, float(step[0])), _sigma(spreads, names)


def _total(run: WholeRun, hours: float, spread: Spread) -> Total:
    low, high = spread.bounds(hours)
    row = Row(
        id=run.id,
        source=run.source,
        kind="whole run",
        actual=run.device_hours,
        predicted=hours,
        low=low,
        high=high,
        inferred=run.case.inferred,
    )
    return Total(run=run, row=row)


def _constants(run: WholeRun, found: Mapping[str, Constants]) -> Constants:
    text = f"{run.source} {run.note} {run.settings_source}"
    relatives = (group for part, group in RELATIVES.items() if part in text)
    return found.get(next(relatives, ""), constants())


def _sigma(spreads: Mapping[str, float], doubts: set[str]) -> float:
    return math.sqrt(
        spreads["base"] ** 2 + sum(spreads.get(name, 0.0) ** 2 for name in sorted(doubts))
    )


def _device_hours(rows: TimeRows, where: Array, run: WholeRun, step_seconds: float) -> float:
    configuration = run.case.configuration
    saved = checkpoint_bytes(take(rows.batch, where))
    whole = run_seconds(
        steps=run.steps,
        step_seconds=step_seconds,
        devices=configuration.num_devices,
        nodes=math.ceil(configuration.num_devices / configuration.devices_per_node),
        interruptions=Interruptions(
            checkpoint_bytes=saved,
            checkpoint_interval=None,
            evaluation_interval=None,
            failures_per_device_day=assumed("failures_per_device_day"),
        ),
    )
    return whole.total * configuration.num_devices / HOUR
