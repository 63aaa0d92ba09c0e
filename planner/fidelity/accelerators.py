"""Choosing an accelerator: predicted against measured ratios of speed between two of them.

Two accelerators are compared where one source ran the same model, sequence length, precision and
task on the same number of each; of each the fastest measured run counts, whatever its batch and
layout. Both are predicted by constants that saw no row of one of them, so that each pair counts
twice, once with either left out. Pairs come from the table of step times and from published
benchmarks of BERT, whose rows had no part in any fit.
"""

from __future__ import annotations

import csv
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from planner.engine.configuration import Configuration
from planner.engine.constants import Constants, constants
from planner.engine.model import Model
from planner.fidelity.case import Case, Traits
from planner.fidelity.fit import TimeRows, predict, time_rows

Array = np.ndarray[Any, np.dtype[Any]]

BENCHMARKS = Path(__file__).parent / "data" / "accelerator_runs.csv"
CLEAR = 1.25  # measured ratio from which the order must be right
STACK = "pytorch-fsdp"  # plain PyTorch in its eager mode
YEAR = 2022  # of the benchmarks' containers


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One comparison: how much faster `left_out` is than `reference`."""

    source: str
    model: str
    precision: str
    num_devices: int
    left_out: str  # sku_id that the constants did not see
    reference: str  # sku_id
    actual: float  # ratio of tokens per second
    predicted: float

    @property
    def ape(self) -> float:
        """|predicted / actual − 1|, a fraction."""
        return abs(self.predicted / self.actual - 1)

    @property
    def clear(self) -> bool:
        """Whether the measured speeds differ enough for an order."""
        return not 1 / CLEAR < self.actual < CLEAR

    @property
    def right(self) -> bool:
        """Whether the predicted order is the measured one."""
        return (self.predicted > 1) == (self.actual > 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioScore:
    """Errors of speed ratios, fractions."""

    pairs: int
    median_ape: float
    p90_ape: float
    clear: int  # pairs that differ by CLEAR or more
    right: float | None  # share of those in the right order


def ratio_score(pairs: Sequence[Pair]) -> RatioScore | None:
    """Summary, None without a pair."""
    if not pairs:
        return None
    errors = np.array([pair.ape for pair in pairs])
    clear = [pair.right for pair in pairs if pair.clear]
    return RatioScore(
        pairs=len(pairs),
        median_ape=float(np.median(errors)),
        p90_ape=float(np.quantile(errors, 0.9)),
        clear=len(clear),
        right=sum(clear) / len(clear) if clear else None,
    )


def pairs_of(rows: TimeRows, found: Mapping[str, Constants]) -> list[Pair]:
    """Every ordered pair of accelerators that ran the same work, in the order of the rows.

    `found` holds constants by the accelerator they did not see; for an accelerator that no fit
    ever saw the shipped constants serve.
    """
    subjects = _subjects(rows)
    predicted: dict[str, Array] = {}
    for sku in sorted({rows.cases[index].configuration.sku for each in subjects for index in each}):
        predicted[sku] = predict(rows, found.get(sku, constants()))
    return [
        _pair(rows, predicted, mine, other)
        for best in subjects
        for mine in best
        for other in best
        if mine != other
    ]


def _subjects(rows: TimeRows) -> list[list[int]]:
    """For each piece of work the row of each accelerator's fastest run; two or more of them."""
    found: dict[Hashable, dict[str, int]] = {}
    for index, case in enumerate(rows.cases):
        fastest = found.setdefault(_work(case), {})
        known = fastest.get(case.configuration.sku)
        if known is None or _speed(rows, index) > _speed(rows, known):
            fastest[case.configuration.sku] = index
    return [list(fastest.values()) for fastest in found.values() if len(fastest) > 1]


def _work(case: Case) -> Hashable:
    each = case.configuration
    layers = tuple(replace(block, matrices=()) for block in each.model.blocks)
    return (
        (case.source, case.traits.release),
        (layers, each.model.hidden),
        (each.seq_len, each.precision, each.task, each.num_devices),
    )


def _speed(rows: TimeRows, index: int, seconds: Array | None = None) -> float:
    """Tokens per second of a row, measured or in `seconds` a step."""
    times = rows.actual if seconds is None else seconds
    return rows.cases[index].configuration.tokens_per_step / float(times[index])


def _pair(rows: TimeRows, predicted: Mapping[str, Array], mine: int, other: int) -> Pair:
    case, against = rows.cases[mine], rows.cases[other].configuration
    each = case.configuration
    seconds = predicted[each.sku]
    return Pair(
        source=case.group,
        model=each.model.name,
        precision=each.precision,
        num_devices=each.num_devices,
        left_out=each.sku,
        reference=against.sku,
        actual=_speed(rows, mine) / _speed(rows, other),
        predicted=_speed(rows, mine, seconds) / _speed(rows, other, seconds),
    )


def benchmark_rows(path: Path = BENCHMARKS) -> TimeRows:
    """Published single-machine benchmarks of one code on many accelerators."""
    with path.open(encoding="utf-8", newline="") as file:
        return time_rows([_case(line, row) for line, row in enumerate(csv.DictReader(file), 2)])


def _case(line: int, row: Mapping[str, str]) -> Case:
    devices, micro = int(row["num_devices"]), int(row["micro_batch"])
    steps = int(row["accumulation"])
    sequences = devices * micro * steps
    return Case(
        id=row["id"],
        line=line,
        source=row["source"],
        group=row["source"],
        configuration=_configuration(row, devices, micro, steps),
        traits=Traits(stack=STACK, year=YEAR, release=row["release"]),
        actual_seconds=sequences / float(row["sequences_per_second"]),
    )


def _configuration(
    row: Mapping[str, str], devices: int, micro: int, accumulation: int
) -> Configuration:
    """One machine with data parallelism; attention as BERT was published, without flash."""
    return Configuration(
        model=_encoder(row["model"]),
        sku=row["sku_id"],
        num_devices=devices,
        devices_per_node=max(devices, 1),
        network_bytes_per_second=1.0,  # no network in one machine
        seq_len=int(row["seq_len"]),
        micro_batch=micro,
        accumulation=accumulation,
        task="pretrain" if row["release"] == "pre-training" else "full-ft",
        precision=row["precision"],
        dp=devices,
        attention="sdpa-math",
        stack=STACK,
        year=YEAR,
    )


def _encoder(name: str) -> Model:
    """The encoder with a head for spans: these runs predict no word, or few in a sequence."""
    from planner.models import load_model

    return replace(load_model(name), vocab=2)
