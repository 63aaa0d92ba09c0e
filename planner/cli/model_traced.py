"""`forerun model FILE.py:FUNCTION`: a traced module's counts and operations."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from planner.cli.output import print_table, warn
from planner.quantities import show_bytes, show_flops, show_whole

if TYPE_CHECKING:
    from planner.engine.model import Model
    from planner.engine.table import Row, Table, Work

SHOWN = 40  # operations, the largest
_FORMATS = {"fp32": "fp32", "mixed": "bf16", "pure-bf16": "pure-bf16"}


def describe(model: Model) -> dict[str, Any]:
    """Everything that `forerun model --json` says of a traced module; unknown is None."""
    table = model.table
    assert table is not None
    work = _work(table)
    forward = sum(row.flops[1] * row.count for row in work.rows if row.direction == "forward")
    return {
        "name": model.name,
        "family": model.family,
        "kind": model.kind,
        "params_total": table.params,
        "params_active": table.params,
        "params_active_without_input_embedding": table.params,
        "params_input_embedding": None,
        "params_trainable": table.trainable,
        "tensors": table.tensors,
        "units": table.units,
        "buffer_bytes": table.buffer_bytes,
        "input_shape": list(table.input_shape) if table.input_shape else None,
        "torch": table.torch,
        "flops_per_token": None,
        "flops_per_sample": work.flops[1],
        "flops_per_sample_forward": forward,
        "saved_bytes": {name: _saved(each) for name, each in _by_format(table).items()},
        "operations": [_operation(row) for row in work.rows],
        "warnings": list(model.warnings),
    }


def _work(table: Table) -> Work:
    """The plainest format that was traced."""
    return next(iter(_by_format(table).values()))


def _by_format(table: Table) -> dict[str, Work]:
    return {
        _FORMATS[number_format]: work
        for (number_format, recompute), work in table.works.items()
        if recompute == "none"
    }


def _saved(work: Work) -> dict[str, float]:
    """Bytes that the forward pass leaves for the backward pass."""
    base, slope = work.saved
    return {"fixed": base, "per_sample": slope}


def _operation(row: Row) -> dict[str, Any]:
    """FLOP and bytes as [a, b]: a + b·samples."""
    return {name: value for name, value in asdict(row).items() if value is not None}


def show(model: Model, answer: dict[str, Any]) -> None:
    """Facts and the operations with the most FLOP."""
    shape = answer["input_shape"]
    of = f" on {' x '.join(map(str, shape))}" if shape else ""
    print_table(f"{model.name} (traced module{of})", ["", "value"], _facts(answer))
    table = model.table
    assert table is not None
    rows = sorted(_work(table).rows, key=lambda row: -row.flops[1] * row.count)
    products = [row for row in rows if row.flops[1]]
    print()
    title = f"Products, {min(SHOWN, len(products))} of {len(products)} kinds; b is the batch"
    columns = ["operation", "direction", "reads", "times", "FLOP a sample", "bytes a sample"]
    print_table(title, columns, [_cells(row) for row in products[:SHOWN]])
    for warning in answer["warnings"]:
        warn(warning)


def _facts(answer: dict[str, Any]) -> list[list[object]]:
    rows: list[list[object]] = [
        ["parameters", show_whole(answer["params_total"])],
        ["  trainable", show_whole(answer["params_trainable"])],
        ["buffers", show_bytes(answer["buffer_bytes"])],
        ["FLOP a sample, forward", show_flops(answer["flops_per_sample_forward"])],
        ["  forward and backward", show_flops(answer["flops_per_sample"])],
    ]
    rows += [
        [f"kept for the backward pass a sample, {name}", show_bytes(each["per_sample"])]
        for name, each in answer["saved_bytes"].items()
    ]
    kinds = len(answer["operations"])
    number = sum(each["count"] for each in answer["operations"])
    rows.append(["operations of a step", f"{number:,} of {kinds:,} kinds"])
    rows.append(["traced by", f"torch {answer['torch']}"])
    return rows


def _cells(row: Row) -> list[object]:
    return [
        row.name,
        row.direction,
        row.shapes,
        row.count,
        show_flops(row.flops[1]),
        show_bytes(row.bytes[1]),
    ]
