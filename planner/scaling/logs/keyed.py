"""Lines of `key value` pairs, whatever the key looks like: the fast path of all line formats.

A format says which literal text stands before each number (`trl:`, ` loss=`, `lm loss: `); a block
of lines is searched for all of them at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.scaling.logs.digits import Bytes, Flags, Floats, Places
from planner.scaling.logs.numbers import padded, parse_numbers, skip_spaces
from planner.scaling.logs.sink import Sink
from planner.scaling.logs.source import Source

_COUNTED = 1 << 16  # bytes of a block in which characters are counted
_NEWLINE = ord("\n")
_WORD = np.zeros(256, dtype=np.bool_)
_WORD[list(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.-")] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A literal that stands before a number."""

    literal: bytes
    name: str
    kind: str  # of `Sink.add`, or "step"
    scale: float = 1.0  # into seconds, for times
    line_start: bool = False  # only as the first text of a line

    def __post_init__(self) -> None:
        assert self.literal, self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The keys of a format; a line counts when one of `steps` and any other key are in it."""

    steps: tuple[Key, ...]
    keys: tuple[Key, ...]
    carry_step: bool = False  # a line without a step belongs to the last step told, and the last
    # of such lines counts: those before it show progress


def read_keyed(source: Source, sink: Sink, grammar: Grammar) -> None:
    """Stream the source through the grammar."""
    last_step = np.nan
    for block in source.blocks():
        sink.bytes_read += len(block)
        last_step = _read_block(block, sink, grammar, last_step)


def _read_block(block: bytes, sink: Sink, grammar: Grammar, last_step: float) -> float:
    text = padded(block)
    newlines = np.flatnonzero(text == _NEWLINE)
    counts = np.bincount(text[:_COUNTED], minlength=256)
    steps = np.full(len(newlines), np.nan)
    odd = np.zeros(len(newlines), dtype=np.bool_)
    for key in grammar.steps:
        lines, values, _, broken = _values(text, newlines, counts, key)
        fresh = np.isnan(steps[lines])
        steps[lines[fresh]] = values[fresh]
        odd[broken] = True
    sink.count_unreadable(int((odd & np.isnan(steps)).sum()))
    if grammar.carry_step:
        steps = _carried(steps, last_step)
        last_step = float(steps[-1]) if len(steps) else last_step
    used = np.zeros(len(newlines), dtype=np.bool_)
    for key in grammar.keys:
        lines, values, absent, broken = _values(text, newlines, counts, key)
        used[lines] = True
        if key.kind == "metric":
            unreadable = broken if _WORD[key.literal[-1]] else absent
            sink.count_unreadable(int(np.isfinite(steps[unreadable]).sum()))
        at, values = steps[lines], values * key.scale
        if grammar.carry_step and len(at):
            last = np.append(at[1:] != at[:-1], True)
            at, values = at[last], values[last]
        sink.add(key.kind, key.name, at, values)
    sink.count_lines(len(newlines), int((used & np.isfinite(steps)).sum()))
    return last_step


def _values(
    text: Bytes, newlines: Places, counts: Places, key: Key
) -> tuple[Places, Floats, Places, Places]:
    """The line and the number of each occurrence of a key (the first of a line counts), the lines
    where no number stands behind the key, and those of them where a digit does."""
    if key.line_start:
        places, lines = _line_starts(text, newlines, key)
    else:
        places, lines = _in_lines(text, newlines, counts, key)
    starts = skip_spaces(text, places + len(key.literal))
    values, found = parse_numbers(text, starts, comma="belongs")
    digit = (text[starts] - np.uint8(ord("0"))) <= 9
    return lines[found], values[found], lines[~found], lines[~found & digit]


def _line_starts(text: Bytes, newlines: Places, key: Key) -> tuple[Places, Places]:
    """The lines that begin with the key, as places and as numbers of lines."""
    places = np.concatenate(([0], newlines + 1))[: len(newlines)]
    begin = np.ones(len(places), dtype=np.bool_)
    for offset, character in enumerate(key.literal):
        begin &= text[places + offset] == character
    return places[begin], np.flatnonzero(begin)


def _in_lines(text: Bytes, newlines: Places, counts: Places, key: Key) -> tuple[Places, Places]:
    """Where the key stands first in a line, as places and as numbers of lines."""
    places = _occurrences(text, key.literal, counts)
    return _first_of_each_line(places[_stands_alone(text, places, key)], newlines)


def _first_of_each_line(places: Places, newlines: Places) -> tuple[Places, Places]:
    """The first place of each line that has one, and the numbers of those lines."""
    one_each = len(places) == len(newlines) and bool((places < newlines).all())
    if one_each and (places[1:] > newlines[:-1]).all():  # as in most logs
        return places, np.arange(len(places))
    lines = np.searchsorted(newlines, places)
    first = np.flatnonzero(np.diff(lines, prepend=-1) > 0)
    return places[first], lines[first]


def _occurrences(text: Bytes, literal: bytes, counts: Places) -> Places:
    """Where `literal` begins, found by the byte of it that `counts` says is rarest."""
    characters = list(literal)
    rarest = min(range(len(characters)), key=lambda i: int(counts[characters[i]]))
    places = np.flatnonzero(text == characters[rarest]) - rarest
    places = places[(places >= 0) & (places + len(characters) < len(text))]
    for offset, character in enumerate(characters):
        if offset != rarest:
            places = places[text[places + offset] == character]
    return places


def _stands_alone(text: Bytes, places: Places, key: Key) -> Flags:
    """No letter before the key where it begins with one."""
    if not _WORD[key.literal[0]]:
        return np.ones(len(places), dtype=np.bool_)
    return np.asarray((places == 0) | ~_WORD[text[np.maximum(places - 1, 0)]])


def _carried(steps: Floats, last_step: float) -> Floats:
    steps = np.concatenate(([last_step], steps))
    known = np.where(np.isnan(steps), 0, np.arange(len(steps)))
    return steps[np.maximum.accumulate(known)][1:]
