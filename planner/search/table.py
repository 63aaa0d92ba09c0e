"""Every valid combination of degrees, batches and sharding on one number of devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine import choices
from planner.engine.batch import Batch
from planner.engine.layout import valid
from planner.errors import PlannerError
from planner.search.axes import Value
from planner.search.restrictions import Restrictions

Array = np.ndarray[Any, np.dtype[Any]]
Columns = dict[str, Array]

NONE = choices.SHARDINGS.index("none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Valid combinations, one row each; words as the codes of `choices`."""

    columns: Mapping[str, Array]  # (rows,) int32 by axis
    recomputes: Array  # codes, tried with every row

    @property
    def rows(self) -> int:
        return len(self.columns["tp"])

    @property
    def size(self) -> int:
        """Candidates: rows times recomputations."""
        return self.rows * len(self.recomputes)

    def arrays(self, start: int, stop: int) -> Columns:
        """The candidates from `start` up to `stop`, as the engine's layout arrays."""
        index = np.arange(start, stop)
        return self.at(index)

    def at(self, index: Array) -> Columns:
        """The candidates of these positions, (n,) each."""
        row, again = np.divmod(index, len(self.recomputes))
        found = {name: column[row].astype(np.float64) for name, column in self.columns.items()}
        found["sharding"] = self.columns["sharding"][row].astype(np.int8)
        found["recompute"] = self.recomputes[again].astype(np.int8)
        degree = found["dp"] * found["cp"]
        found["shard_degree"] = np.where(found["sharding"] != NONE, degree, 1.0)
        return found


def table(
    values: Mapping[str, Sequence[Value]], template: Batch, limits: Restrictions, count: int
) -> Table:
    """Join the axes one by one, dropping what breaks a rule as soon as it can be seen.

    Raises PlannerError naming the rule that leaves nothing.
    """
    columns = _layouts(values, limits, count, int(template.shape.layers[0]))
    columns = _batches(columns, values, limits, count)
    columns = _joined(columns, "sharding", _codes(choices.SHARDINGS, values["sharding"]))
    columns = _kept(columns, _shared(columns, values["sharding"]), "sharding", "nothing to share")
    columns = _kept(columns, _valid(template, columns), "layout", "breaks a rule of the model")
    return Table(columns=columns, recomputes=_codes(choices.RECOMPUTES, values["recompute"]))


def _shared(columns: Columns, words: Sequence[Value]) -> Array:
    """Where a single rank leaves nothing to shard, one word stands for all of them."""
    alone = columns["dp"] * columns["cp"] == 1
    word = "none" if "none" in words else str(words[0])
    result: Array = ~alone | (columns["sharding"] == choices.SHARDINGS.index(word))
    return result


def _layouts(
    values: Mapping[str, Sequence[Value]], limits: Restrictions, count: int, layers: int
) -> Columns:
    columns: Columns = {"tp": _numbers(values["tp"])}
    columns = _joined(columns, "pp", _numbers(values["pp"]))
    columns = _joined(columns, "cp", _numbers(values["cp"]))
    devices = columns["tp"] * columns["pp"] * columns["cp"]
    columns = _kept(columns, count % devices == 0, "count", f"no tp·pp·cp divides {count}")
    columns["dp"] = count // (columns["tp"] * columns["pp"] * columns["cp"])
    columns = _filtered(columns, "dp", limits)
    columns = _joined(columns, "ep", _numbers(values["ep"]))
    ranks = columns["dp"] * columns["cp"]
    columns = _kept(columns, ranks % columns["ep"] == 0, "ep", "no ep divides dp·cp")
    columns = _joined(columns, "interleave", _numbers(values["interleave"]))
    virtual, stages = columns["interleave"], columns["pp"]
    even = (virtual == 1) | ((stages > 1) & (layers % (stages * virtual) == 0))
    reason = f"pp·interleave must divide the {layers} layers"
    return _kept(columns, even, "interleave", reason)


def _batches(
    columns: Columns, values: Mapping[str, Sequence[Value]], limits: Restrictions, count: int
) -> Columns:
    columns = _joined(columns, "global_batch", _numbers(values["global_batch"]))
    columns = _joined(columns, "micro_batch", _numbers(values["micro_batch"]))
    at_once = columns["dp"] * columns["micro_batch"]
    batches = ", ".join(map(str, values["global_batch"]))
    reason = f"no dp·micro_batch on {count} devices divides the global batch {batches}"
    columns = _kept(columns, columns["global_batch"] % at_once == 0, "global_batch", reason)
    columns["accumulation"] = columns["global_batch"] // (columns["dp"] * columns["micro_batch"])
    columns = _filtered(columns, "accumulation", limits)
    whole = (columns["interleave"] == 1) | (columns["accumulation"] % columns["pp"] == 0)
    return _kept(columns, whole, "interleave", "accumulation must be a multiple of pp")


def _valid(template: Batch, columns: Columns) -> Array:
    names = ("tp", "pp", "cp", "ep", "dp", "interleave", "micro_batch", "accumulation")
    arrays = {name: columns[name].astype(np.float64) for name in names}
    return valid(template.vary(len(columns["tp"]), **arrays))


def _filtered(columns: Columns, name: str, limits: Restrictions) -> Columns:
    """What is said of a degree that follows from the others."""
    if not limits.says(name):
        return columns
    found = [int(value) for value in np.unique(columns[name])]
    keep = np.isin(columns[name], _numbers(_said(limits, name, found)))
    listed = ", ".join(map(str, found[:12]))
    return _kept(columns, keep, name, f"no layout gives what was asked: possible are {listed}")


def _said(limits: Restrictions, name: str, found: list[int]) -> list[Value]:
    values = limits.kept(name, list(found))
    return [value for value in values if value in found]


def _joined(columns: Columns, name: str, values: Array) -> Columns:
    """Every row with every value."""
    rows = len(next(iter(columns.values())))
    joined = {other: np.repeat(column, len(values)) for other, column in columns.items()}
    joined[name] = np.tile(values, rows)
    return joined


def _kept(columns: Columns, keep: Array, name: str, reason: str) -> Columns:
    if keep.all():
        return columns
    if not keep.any():
        raise PlannerError(name, None, f"the search is empty: {reason}")
    return {other: column[keep] for other, column in columns.items()}


def _numbers(values: Sequence[Value]) -> Array:
    return np.array(values, dtype=np.int32)


def _codes(words: tuple[str, ...], values: Sequence[Value]) -> Array:
    return np.array([choices.code(words, str(value)) for value in values], dtype=np.int32)
