"""Published training rates of ResNet-50 against the plans of our traced module.

The rows are the only published ones of traced modules that we have. The constants of
`engine/data/traced.json` are fitted to them, each source as heavy as the others.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.engine.batch import batch_of
from planner.engine.configuration import Configuration
from planner.engine.constants import constants
from planner.engine.evaluate import Evaluation, evaluate
from planner.models import load_model

if TYPE_CHECKING:
    from planner.engine.model import Model

Array = np.ndarray[Any, np.dtype[Any]]

FILE = Path(__file__).parent / "data" / "convolution_runs.csv"
PER_NODE = 8
NETWORK = 25e9  # bytes/s; no row spans nodes
OPTIMIZER, STACK = "sgd-momentum", "pytorch-fsdp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One published rate."""

    source: str
    model: str
    sku_id: str
    num_devices: int
    micro_batch: int
    precision: str
    channels_last: bool
    samples_per_second: float
    peak_gib: float | None  # by nvidia-smi
    inferred: tuple[str, ...]  # fields that the source does not state
    origin: str


def rows() -> list[Row]:
    """Every published row."""
    with FILE.open(encoding="utf-8", newline="") as lines:
        return [_row(each) for each in csv.DictReader(lines)]


def _row(cells: dict[str, str]) -> Row:
    return Row(
        source=cells["source"],
        model=cells["model"],
        sku_id=cells["sku_id"],
        num_devices=int(cells["num_devices"]),
        micro_batch=int(cells["micro_batch"]),
        precision=cells["precision"],
        channels_last=cells["channels_last"] == "1",
        samples_per_second=float(cells["samples_per_second"]),
        peak_gib=float(cells["peak_gib"]) if cells["peak_gib"] else None,
        inferred=tuple(cells["inferred"].split()),
        origin=cells["origin"],
    )


def evaluated(row: Row) -> Evaluation:
    """The engine's answer to a row's configuration."""
    import hardware_db
    from planner.stacks import stack

    model = load_model(row.model)
    configuration = Configuration(
        model=channels_last(model) if row.channels_last else model,
        sku=row.sku_id,
        num_devices=row.num_devices,
        devices_per_node=min(row.num_devices, PER_NODE),
        network_bytes_per_second=NETWORK,
        seq_len=1,
        micro_batch=row.micro_batch,
        accumulation=1,
        precision=row.precision,
        dp=row.num_devices,
        optimizer=OPTIMIZER,
        stack=STACK,
    )
    return evaluate(batch_of([configuration], hardware_db.accelerator, stack), constants())


def channels_last(model: Model) -> Model:
    """The same module with its images' channels last in memory."""
    table = model.table
    assert table is not None
    works = {
        key: replace(
            work,
            rows=tuple(
                replace(each, channels_last=each.kind == "convolution") for each in work.rows
            ),
        )
        for key, work in table.works.items()
    }
    return replace(model, table=replace(table, works=works))


def log_errors(published: Sequence[Row]) -> Array:
    """Logarithm of predicted over published samples a second, a row each."""
    found = []
    for row in published:
        samples = row.micro_batch * row.num_devices
        predicted = samples / float(evaluated(row).seconds[0])
        found.append(math.log(predicted / row.samples_per_second))
    return np.array(found)


def median_error(errors: Array) -> float:
    """Median of |predicted time / published time - 1|."""
    return float(np.median(np.abs(np.exp(-errors) - 1)))
