"""Published cases as arrays for the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np

import hardware_db
from planner.engine.batch import Batch, batch_of
from planner.engine.configuration import Configuration
from planner.fidelity.case import Case
from planner.stacks import stack

Array = np.ndarray[Any, np.dtype[Any]]
Record = TypeVar("Record")


def configured(case: Case) -> Configuration:
    """The case's configuration with what its notes tell about the software."""
    traits = case.traits
    return replace(
        case.configuration,
        flash="" if traits.flash == "none" else traits.flash,
        fp8_recipe=traits.fp8_recipe,
        cuda_graphs=traits.cuda_graphs,
        dispatcher=traits.dispatcher or "alltoall",
        expert_overlap=traits.expert_overlap,
    )


def case_batch(cases: Sequence[Case]) -> Batch:
    """A batch with one candidate per case, in their order."""
    return batch_of([configured(each) for each in cases], hardware_db.accelerator, stack)


def take(batch: Batch, index: Array) -> Batch:
    """The candidates at `index` (integers or a mask) as a batch of their own."""
    chosen = np.flatnonzero(index) if index.dtype == bool else index
    return replace(_rows(batch, chosen), size=len(chosen))


def _rows(record: Record, chosen: Array) -> Record:
    """Every array of a nested record at `chosen`, arrays shared by all candidates unchanged."""
    assert is_dataclass(record)
    assert not isinstance(record, type)
    picked = {item.name: _pick(getattr(record, item.name), chosen) for item in fields(record)}
    result: Any = replace(record, **picked)
    return result  # type: ignore[no-any-return]


def _pick(value: Any, chosen: Array) -> Any:
    if isinstance(value, np.ndarray):
        return value if value.shape[-1] == 1 else value[..., chosen]
    return _rows(value, chosen) if is_dataclass(value) else value
