"""Candidates of many groups in chunks of one size, each chunk one batch for the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.machine import Machine
from planner.search.group import Group

Array = np.ndarray[Any, np.dtype[Any]]

CHUNK = 16_384  # candidates evaluated at a time: their arrays stay in the processor's cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A range of one group's candidates."""

    number: int  # of the group in the space
    group: Group
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Pieces that share a recipe, as one batch."""

    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces)

    def batch(self) -> Batch:
        """All candidates as arrays (size,)."""
        columns = [piece.group.columns(piece.start, piece.stop) for piece in self.pieces]
        joined = {name: np.concatenate([each[name] for each in columns]) for name in columns[0]}
        if len(self.pieces) > 1:
            counts = [float(piece.group.scenario.num_devices) for piece in self.pieces]
            joined["num_devices"] = np.repeat(counts, self._sizes())
        template = self.pieces[0].group.template
        return replace(template.vary(self.size, **joined), machine=self._machine())

    def _machine(self) -> Machine:
        if len(self.pieces) == 1:
            return self.pieces[0].group.template.machine
        sizes = self._sizes()
        rows = [piece.group.template.machine for piece in self.pieces]
        return Machine(**{item.name: _repeated(rows, item.name, sizes) for item in fields(Machine)})

    def _sizes(self) -> list[int]:
        return [piece.size for piece in self.pieces]

    def owner(self) -> Array:
        """Which piece each candidate belongs to, (size,)."""
        return np.repeat(np.arange(len(self.pieces)), self._sizes())

    def position(self) -> Array:
        """Each candidate's position in its own group, (size,)."""
        return np.concatenate([np.arange(piece.start, piece.stop) for piece in self.pieces])


def _repeated(rows: Sequence[Machine], name: str, sizes: Sequence[int]) -> Array:
    """One value per candidate, or one for all where the machines agree."""
    values = np.concatenate([getattr(row, name) for row in rows])
    if np.all(values == values[0]) or np.all(np.isnan(values)):
        return values[:1]
    return np.repeat(values, sizes)


def chosen(batch: Batch, keep: Array) -> Batch:
    """Some candidates of a batch, by position."""
    size = batch.size

    def picked(part: Any) -> Any:
        arrays = {
            item.name: getattr(part, item.name)[keep]
            for item in fields(part)
            if getattr(part, item.name).shape == (size,) and size > 1
        }
        return replace(part, **arrays)

    return replace(
        batch, parallel=picked(batch.parallel), machine=picked(batch.machine), size=len(keep)
    )


def chunks(groups: Sequence[Group], most: int = CHUNK) -> Iterator[Chunk]:
    """Every candidate once; groups of one recipe share chunks, large groups are split."""
    by_key: dict[tuple[str, ...], list[int]] = {}
    for number, group in enumerate(groups):
        by_key.setdefault(group.key, []).append(number)
    for numbers in by_key.values():
        yield from _packed([(number, groups[number]) for number in numbers], most)


def _packed(members: Sequence[tuple[int, Group]], most: int) -> Iterator[Chunk]:
    waiting: list[Piece] = []
    room = most
    for number, group in members:
        start = 0
        while start < group.table.size:
            stop = min(start + room, group.table.size)
            waiting.append(Piece(number=number, group=group, start=start, stop=stop))
            room -= stop - start
            start = stop
            if not room:
                yield Chunk(pieces=tuple(waiting))
                waiting, room = [], most
    if waiting:
        yield Chunk(pieces=tuple(waiting))
