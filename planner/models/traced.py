"""A traced module as a model: the table that tracing wrote, checked and turned into arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from planner.engine.model import Block, Model
from planner.engine.table import Affine, Row, Table, Work
from planner.errors import PlannerError

FORMATS = ("fp32", "mixed", "pure-bf16")
RECOMPUTES = ("none", "full")
KINDS = ("product", "convolution", "attention", "norm", "pointwise")
DIRECTIONS = ("forward", "backward")
LARGEST = 1e24  # of any number in a table
COLUMNS = (
    "name",
    "kind",
    "direction",
    "shapes",
    "flops",
    "bytes",
    "kernels",
    "width",
    "dims",
    "head_dim",
    "keys",
    "channels_last",
    "count",
)
_COUNTS = ("params", "trainable", "tensors", "largest", "buffer_bytes", "units", "unit")


def packed(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table as it is stored: rows without their names, in the order of `COLUMNS`."""
    variants = {
        number_format: {
            recompute: {**work, "rows": [[row[name] for name in COLUMNS] for row in work["rows"]]}
            for recompute, work in works.items()
        }
        for number_format, works in table["variants"].items()
    }
    return {**table, "variants": variants}


def traced_model(
    table: Mapping[str, Any], *, name: str, input_shape: tuple[int, ...] | None
) -> Model:
    """The model of a packed table. Raises PlannerError for one that tracing cannot have written."""
    try:
        read = _table(table, input_shape)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise PlannerError("model", name, f"its table is broken: {error}") from None
    return Model(
        name=name,
        family="traced",
        kind="traced",
        hidden=1,
        vocab=0,
        blocks=(_block(read.params),),
        input_embedding_params=0,
        warnings=_warnings(read),
        table=read,
    )


def _block(params: int) -> Block:
    """One layer that nothing can divide stands for the module."""
    return Block(count=1, heads=1, kv_heads=1, head_dim=1, v_head_dim=1, ffn_params=params)


def _table(table: Mapping[str, Any], input_shape: tuple[int, ...] | None) -> Table:
    works = {
        (_word(number_format, FORMATS), _word(recompute, RECOMPUTES)): _work(work)
        for number_format, variants in table["variants"].items()
        for recompute, work in variants.items()
    }
    counts = {name: _count(table[name]) for name in _COUNTS}
    if not works or counts["params"] < counts["trainable"] or not counts["trainable"]:
        raise ValueError("it trains nothing")
    return Table(input_shape=input_shape, torch=str(table["torch"])[:40], works=works, **counts)


def _work(work: Mapping[str, Any]) -> Work:
    rows = tuple(_row(dict(zip(COLUMNS, row, strict=True))) for row in work["rows"])
    moments = np.array([[_number(each) for each in moment] for moment in work["moments"]])
    if moments.ndim != 2 or moments.shape[1] != 3:
        raise ValueError("moments")
    return Work(rows=rows, moments=moments, saved=_affine(work["saved"]))


def _row(row: Mapping[str, Any]) -> Row:
    dims = row["dims"]
    return Row(
        name=str(row["name"])[:80],
        kind=_word(row["kind"], KINDS),
        direction=_word(row["direction"], DIRECTIONS),
        shapes=str(row["shapes"])[:400],
        flops=_affine(row["flops"]),
        bytes=_affine(row["bytes"]),
        kernels=_count(row["kernels"]),
        width=_count(row["width"]),
        dims=None if dims is None else tuple(map(_affine, dims)),
        head_dim=_count(row["head_dim"]),
        keys=_count(row["keys"]),
        channels_last=bool(_count(row["channels_last"])),
        count=_count(row["count"]),
    )


def _word(value: Any, words: tuple[str, ...]) -> str:
    if value not in words:
        raise ValueError(f"{value!r} is none of {', '.join(words)}")
    return str(value)


def _number(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not math.isfinite(number) or abs(number) > LARGEST:
        raise ValueError(f"{value!r} is no number of a table")
    return number


def _count(value: Any) -> int:
    number = _number(value)
    if number < 0 or number != int(number):
        raise ValueError(f"{value!r} is no count")
    return int(number)


def _affine(value: Any) -> Affine:
    base, slope = value
    return _number(base), _number(slope)


def _warnings(table: Table) -> tuple[str, ...]:
    """What the table shows that its rates do not know."""
    rows = [row for work in table.works.values() for row in work.rows]
    found = []
    if any(row.dims and row.dims[1] == (1.0, 0.0) and row.dims[3][0] > 8 for row in rows):
        found.append(
            "depthwise convolutions: vendors' kernels take longer than their traffic, which is "
            "all that is counted"
        )
    mixed = table.works.get(("mixed", "none"))
    if mixed is not None:
        wide = sum(row.flops[1] * row.count for row in mixed.rows if row.width == 4)
        if wide > 0.01 * mixed.flops[1]:
            found.append(
                f"{wide / mixed.flops[1]:.0%} of the FLOP run in FP32 under autocast: they are "
                "timed at the 16-bit rate"
            )
    return tuple(found)
