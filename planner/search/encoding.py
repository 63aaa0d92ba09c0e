"""Candidates as the parameters of a study: ordered numbers, words, and back, always valid.

Numbers are positions in sorted lists, so that neighbours are alike. What a combination of values
does not allow is moved to the nearest that it allows, axis by axis: every point of the study's
space is a valid candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.engine import choices
from planner.search.group import Group
from planner.search.space import Space

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Array = np.ndarray[Any, np.dtype[Any]]
Params = dict[str, Any]
Candidate = tuple[int, int]  # group in the space, position in the group

ROW_AXES = ("global_batch", "tp", "pp", "cp", "ep", "micro_batch", "interleave", "sharding")
GROUP_WORDS = ("precision", "compile", "attention", "loss")
ORDERED_WORDS = {"sharding": choices.SHARDINGS, "recompute": choices.RECOMPUTES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinate:
    """One parameter of a study and its values in order."""

    name: str
    values: tuple[Any, ...]
    ordered: bool  # False: words without an order

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import CategoricalDistribution, IntDistribution

        if self.ordered:
            return IntDistribution(0, len(self.values) - 1)
        return CategoricalDistribution(self.values)

    def parameter(self, value: Any) -> Any:
        """How a study holds a value."""
        return self.values.index(value) if self.ordered else value

    def value(self, parameter: Any) -> Any:
        return self.values[int(parameter)] if self.ordered else parameter


class Encoding:
    """The coordinates of a space, and the way between parameters and candidates."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._by_words = {_group_key(group): n for n, group in enumerate(space.groups)}

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Every axis with more than one value."""
        groups = self.space.groups
        found = [
            _coordinate(name, [_group_value(group, name) for group in groups])
            for name in ("sku", "count", "power_limit", *GROUP_WORDS)
        ]
        tables = list({id(group.table): group.table for group in groups}.values())
        for name in ROW_AXES:
            values = [np.unique(table.columns[name]) for table in tables]
            found.append(_coordinate(name, np.unique(np.concatenate(values)).tolist()))
        recomputes = np.unique(np.concatenate([table.recomputes for table in tables]))
        found.append(_coordinate("recompute", recomputes.tolist()))
        return tuple(each for each in found if len(each.values) > 1)

    def distributions(self) -> dict[str, BaseDistribution]:
        return {each.name: each.distribution() for each in self.coordinates}

    def decode(self, params: Mapping[str, Any]) -> Candidate:
        """The valid candidate nearest to parameters; an absent one is the first value."""
        wanted = {each.name: each.value(params[each.name]) for each in self.coordinates}
        number = self._group(wanted)
        table = self.space.groups[number].table
        rows = np.arange(table.rows)
        for name in ROW_AXES:
            column = table.columns[name][rows]
            rows = rows[column == _nearest(column, wanted.get(name))]
        again = _nearest(table.recomputes, wanted.get("recompute"))
        position = int(np.flatnonzero(table.recomputes == again)[0])
        return number, int(rows[0]) * len(table.recomputes) + position

    def encode(self, candidate: Candidate) -> Params:
        """Parameters that decode to a candidate."""
        number, index = candidate
        group = self.space.groups[number]
        row, again = divmod(index, len(group.table.recomputes))
        params = {}
        for each in self.coordinates:
            if each.name == "recompute":
                value: Any = int(group.table.recomputes[again])
            elif each.name in ROW_AXES:
                value = int(group.table.columns[each.name][row])
            else:
                value = _group_value(group, each.name)
            params[each.name] = each.parameter(value)
        return params

    def nearest(self, wanted: Mapping[str, Any]) -> Params:
        """Parameters of the valid candidate nearest to values given by name; the rest is usual."""
        first = self.encode((0, 0))
        for each in self.coordinates:
            if each.name in wanted:
                first[each.name] = each.parameter(_closest(each, wanted[each.name]))
        return self.encode(self.decode(first))

    def _group(self, wanted: Mapping[str, Any]) -> int:
        """The group of the wanted words; where it is excluded, the one that agrees in most."""
        names = ("sku", "count", "power_limit", *GROUP_WORDS)
        first = self.space.groups[0]
        key = tuple(wanted.get(name, _group_value(first, name)) for name in names)
        if key in self._by_words:
            return self._by_words[key]
        return max(
            self._by_words.items(),
            key=lambda item: sum(a == b for a, b in zip(item[0], key, strict=True)),
        )[1]


def _group_key(group: Group) -> tuple[Any, ...]:
    names = ("sku", "count", "power_limit", *GROUP_WORDS)
    return tuple(_group_value(group, name) for name in names)


def _group_value(group: Group, name: str) -> Any:
    return group.words[name] if name in GROUP_WORDS else getattr(group.pool, name)


def _coordinate(name: str, values: Sequence[Any]) -> Coordinate:
    """Numbers in order; words in the order in which they first appear."""
    numbers = all(isinstance(value, int | float) for value in values)
    kept = sorted(set(values)) if numbers else list(dict.fromkeys(values))
    return Coordinate(name=name, values=tuple(kept), ordered=numbers)


def _closest(each: Coordinate, value: Any) -> Any:
    if each.name in ORDERED_WORDS and isinstance(value, str):
        value = ORDERED_WORDS[each.name].index(value)
    if not each.ordered:
        return value if value in each.values else each.values[0]
    return _nearest(np.array(each.values), value).item()


def _nearest(column: Array, value: Any) -> Any:
    """The entry nearest to a value, as a ratio for numbers above zero; the least without one."""
    if value is None:
        return column.min()
    near = np.abs(np.log((column + 0.5) / (float(value) + 0.5)))
    return column[int(np.argmin(near))]
