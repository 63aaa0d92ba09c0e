"""Records of numbers as mappings, and rows of numbers as columns of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@cache
def names(kind: type) -> tuple[str, ...]:
    """Field names of a dataclass, in order."""
    return tuple(item.name for item in fields(kind))


def values(record: Any) -> dict[str, Any]:
    """The fields of a dataclass instance by name, as they are (`asdict` copies them deeply)."""
    kind: type = type(record)
    return {name: getattr(record, name) for name in names(kind)}


def columns(rows: Sequence[dict[str, float]]) -> dict[str, Array]:
    """Rows of the same names as one array of (n,) per name.

    >>> columns([{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    {'a': array([1., 3.]), 'b': array([2., 4.])}
    """
    first = rows[0]
    table = np.array([[row[name] for name in first] for row in rows], dtype=np.float64)
    return dict(zip(first, np.ascontiguousarray(table.T), strict=True))
