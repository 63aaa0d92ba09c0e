"""Predicted against reported device-hours of whole training runs.

Steps times step time, plus checkpoints, start-up and failures as `forerun plan` assumes them. The
reports hold more: evaluation, idle devices, restarts by hand. No total had a part in a fit.
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
from planner.fidelity.time import predict_with_doubts
from planner.fidelity.whole_runs import WholeRun
from planner.planning.intervals import Spread
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
    rows = untimed_rows([run.case for run in runs])
    return [_total(rows, index, run, found, spreads) for index, run in enumerate(runs)]


def _total(
    rows: TimeRows,
    index: int,
    run: WholeRun,
    found: Mapping[str, Constants],
    spreads: Mapping[str, float],
) -> Total:
    where = np.array([index])
    step, doubts = predict_with_doubts(rows, _constants(run, found), where)
    guessed = ("guessed",) if run.confidence == "low" else ()
    names = {*doubts[0], *guessed} - (set() if guessed else {"guessed"})
    spread = Spread(sigma=_sigma(spreads, names))
    hours = _device_hours(rows, where, run, float(step[0]))
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
