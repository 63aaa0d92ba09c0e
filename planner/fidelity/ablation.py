"""What each term of the step-time model is worth: left out, refitted, sources left out again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.constants import Constants
from planner.engine.step import step_seconds
from planner.fidelity.batches import take
from planner.fidelity.fit import StepTotal, TimeRows, fit, step_total
from planner.fidelity.leave_one_out import Progress, fingerprint
from planner.fidelity.scores import FEWEST_ROWS

Array = np.ndarray[Any, np.dtype[Any]]

FILE = Path(__file__).parent / "data" / "ablation.json"
TOUCHED = 0.05  # a row is touched where the term is that share of its time


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One term and the step time without it."""

    name: str
    total: StepTotal


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """Errors of left-out sources with and without a term, fractions."""

    name: str
    mean_with: float  # mean over sources of the median error
    mean_without: float
    touched: int  # rows of which the term is TOUCHED or more
    touched_with: float | None  # median error of these, None where there is none
    touched_without: float | None


def _without(*parts: str) -> StepTotal:
    """The step without some of its parts."""

    def total(batch: Batch, c: Constants) -> Array:
        step = step_seconds(batch, c)
        gone = sum((getattr(step, part) for part in parts), np.zeros(1))
        result: Array = step.total - gone
        return result

    return total


def _with_constants(**values: float) -> StepTotal:
    """The step with constants held at the values that switch a term off."""

    def total(batch: Batch, c: Constants) -> Array:
        return step_total(batch, replace(c, **values))

    return total


def _datasheet_rates(batch: Batch, c: Constants) -> Array:
    """The step with one achievable fraction for every accelerator instead of measured ones."""
    unknown = np.full(1, np.nan)
    machine = replace(batch.machine, matmul_achievable=unknown, attention_achievable=unknown)
    return step_total(replace(batch, machine=machine), c)


TERMS = (
    Term(name="launch: the host's work behind short kernels", total=_without("launch")),
    Term(name="attention", total=_without("attention")),
    Term(name="recomputation", total=_without("recompute")),
    Term(name="memory-bound work", total=_without("elementwise")),
    Term(name="output layer and loss", total=_without("output_layer")),
    Term(name="pipeline bubble", total=_without("pipeline")),
    Term(name="tensor-parallel collectives", total=_without("tensor_parallel")),
    Term(name="gathers of sharded parameters", total=_without("sharding")),
    Term(name="gradient reduction", total=_without("data_parallel")),
    Term(name="exchange of experts", total=_without("expert_parallel")),
    Term(name="permutation of routed tokens", total=_without("routing")),
    Term(name="optimizer and accumulation", total=_without("optimizer", "accumulation")),
    Term(name="measured matmul rate of each part", total=_datasheet_rates),
    Term(name="throttling of dense parts", total=_with_constants(power_exponent=0.0)),
    Term(name="casts and scales of FP8 and FP4", total=_with_constants(quantise_passes=0.0)),
    Term(name="slower grouped products", total=_with_constants(expert_rate=1.0)),
)


def worths(
    rows: TimeRows,
    found: Mapping[str, Constants],
    terms: Sequence[Term] = TERMS,
    progress: Progress | None = None,
) -> list[Worth]:
    """Every term's worth, the dearest first. `found` holds the full model's left-out constants.

    Sources with fewer than FEWEST_ROWS rows stay in every fit and in no error.
    """
    names = [name for name in found if np.sum(rows.groups == name) >= FEWEST_ROWS]
    full = _errors(rows, found, names, step_total)
    result = []
    for done, term in enumerate(terms):
        if progress is not None:
            progress(done, len(terms))
        refitted = {
            name: fit(rows, rows.groups == name, term.total, start=found[name]).constants
            for name in names
        }
        lean = _errors(rows, refitted, names, term.total)
        result.append(_worth(term, rows, full, lean, _touched(rows, found, names, term)))
    return sorted(result, key=lambda each: each.mean_with - each.mean_without)


def _errors(
    rows: TimeRows, found: Mapping[str, Constants], names: Sequence[str], total: StepTotal
) -> Array:
    """Error of each row by the constants of its source, NaN where it is not in `names`."""
    return np.abs(_times(rows, found, names, total) / rows.actual - 1)


def _times(
    rows: TimeRows, found: Mapping[str, Constants], names: Sequence[str], total: StepTotal
) -> Array:
    times = np.full(len(rows.actual), np.nan)
    for name in names:
        index = np.flatnonzero(rows.groups == name)
        times[index] = total(take(rows.batch, index), found[name])
    return times


def _touched(
    rows: TimeRows, found: Mapping[str, Constants], names: Sequence[str], term: Term
) -> Array:
    """Rows whose time changes by TOUCHED or more without the term, nothing refitted."""
    full = _times(rows, found, names, step_total)
    result: Array = np.abs(_times(rows, found, names, term.total) / full - 1) >= TOUCHED
    return result


def _worth(term: Term, rows: TimeRows, full: Array, lean: Array, touched: Array) -> Worth:
    def mean(errors: Array) -> float:
        known = rows.groups[~np.isnan(errors)]
        medians = [np.median(errors[rows.groups == name]) for name in sorted(set(known.tolist()))]
        return float(np.mean(medians))

    def median(errors: Array) -> float | None:
        return float(np.median(errors[touched])) if touched.any() else None

    return Worth(
        name=term.name,
        mean_with=mean(full),
        mean_without=mean(lean),
        touched=int(touched.sum()),
        touched_with=median(full),
        touched_without=median(lean),
    )


def read(path: Path = FILE) -> tuple[str, list[Worth]] | None:
    """The fingerprint of the fit that the stored worths belong to, and the worths."""
    if not path.exists():
        return None
    stored = json.loads(path.read_text(encoding="utf-8"))
    return stored["fingerprint"], [Worth(**row) for row in stored["terms"]]


def write(rows: TimeRows, found: Sequence[Worth], path: Path = FILE) -> None:
    """Store the worths with the fingerprint of the engine that they belong to."""
    table = [{name: _digits(value) for name, value in asdict(each).items()} for each in found]
    text = json.dumps({"fingerprint": fingerprint(rows), "terms": table}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def _digits(value: float | int | str | None) -> float | int | str | None:
    return round(value, 5) if isinstance(value, float) else value
