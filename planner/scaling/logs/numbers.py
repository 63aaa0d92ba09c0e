"""Decimal numbers out of raw bytes, many at a time.

Python needs about a microsecond to turn one short piece of text into a float; a log of 500 MB
holds tens of millions. These functions do it column by column over arrays instead.
"""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from planner.scaling.logs.digits import (
    Bytes,
    Flags,
    Floats,
    Places,
    follows_comma,
    plain_decimals,
)

_LONGEST = 40  # characters; a longer run of number characters is not a number
_LOOKS = (10, 24, _LONGEST + 1)  # characters looked at first, then where they do not suffice
_PADDING = bytes(_LONGEST + 64 + 1)
_PATTERN = re.compile(rb"(?P<sign>[-+]?)(?=\.?\d)(?P<whole>\d*)(?:\.(?P<fraction>\d*))?")
_OF_MICROSOFT = re.compile(rb"[-+]?1\.#(?P<inf>INF)?")  # else IND, QNAN, SNAN
_POWERS = 10.0 ** np.arange(_LONGEST + 1)
_OTHER_CHARACTER = np.ones(256, dtype=np.bool_)  # than those of a number
_OTHER_CHARACTER[list(b"0123456789+-.eE")] = False
_OTHER_NOTATION = np.zeros(256, dtype=np.bool_)  # 1_000, 1.5D+02, 0x10
_OTHER_NOTATION[list(b"_dDxX")] = True
_E, _HASH = ord("e"), ord("#")
_SPACE, _TAB, _DOT, _MINUS, _PLUS, _ZERO, _NINE = (ord(c) for c in " \t.-+09")


def padded(block: bytes) -> Bytes:
    """A block as an array, with room behind it so that no look ahead leaves it."""
    return np.frombuffer(block + _PADDING, dtype=np.uint8)


def skip_spaces(text: Bytes, starts: Places) -> Places:
    """`starts`, each moved past blanks (up to 64 of them). `text` is padded."""
    starts = starts.copy()
    for _ in range(64):
        here = text[starts]
        blank = (here == _SPACE) | (here == _TAB)
        if not blank.any():
            break
        starts += blank
    return starts


def parse_numbers(text: Bytes, starts: Places, *, comma: str = "ends") -> tuple[Floats, Flags]:
    """The number that begins at each of `starts`, and whether there was one. `text` is padded.

    `nan` and `inf` (any case, signed, also as `1.#INF`) are numbers here: a log says them on
    purpose. What is no number gives NaN and False; so does one in another notation, which would
    be read as its first digits: 1_000, 1.5D+02, 0x10, and where a comma `belongs` to numbers
    instead of ending them 2,61 and 1,990.

    >>> text = padded(b"a=1.5 b=-2e-3 c=nan d=x")
    >>> values, found = parse_numbers(text, np.array([2, 8, 16, 22]))
    >>> values.tolist(), found.tolist()
    ([1.5, -0.002, nan, nan], [True, True, True, False])
    """
    values, found = plain_decimals(text, starts, comma=comma)
    others = np.flatnonzero(~found)
    if len(others):
        values[others], found[others] = _any_numbers(text, starts[others], comma)
    return values, found


def _any_numbers(text: Bytes, starts: Places, comma: str) -> tuple[Floats, Flags]:
    """As `parse_numbers`, for numbers in whatever way they are written."""
    ends, marks = _spans(text, starts)
    mantissa_ends, exponents, found = _exponents(text, ends, marks)
    values, decimal = _decimals(text, starts, mantissa_ends)
    values = _scaled(values, exponents)
    found &= decimal & ~_goes_on(text, ends, comma)
    values[~found] = np.nan
    _named(text, starts, values, found)
    return values, found


def _goes_on(text: Bytes, ends: Places, comma: str) -> Flags:
    """Whether what stands behind the number characters belongs to the number."""
    after, next_one = text[ends], text[ends + 1]
    digit = (next_one - np.uint8(_ZERO)) <= 9
    signed = digit | (next_one == _PLUS) | (next_one == _MINUS)
    found: Flags = (after == _HASH) | (_OTHER_NOTATION[after] & signed)
    return found | follows_comma(text, ends) if comma == "belongs" else found


def _spans(text: Bytes, starts: Places) -> tuple[Places, Places]:
    """Where the number characters from each start end, and where the first e stands (or -1)."""
    ends, marks = _within(text, starts, _LOOKS[0])
    for shorter, length in pairwise(_LOOKS):
        longer = np.flatnonzero(ends - starts == shorter)
        if len(longer):
            ends[longer], marks[longer] = _within(text, starts[longer], length)
    return ends, marks


def _within(text: Bytes, starts: Places, length: int) -> tuple[Places, Places]:
    windows = sliding_window_view(text, length)[starts]
    lengths = _first(_OTHER_CHARACTER[windows])
    marks = _first((windows | 0x20) == _E)
    return starts + lengths, np.where(marks < lengths, starts + marks, -1)


def _first(flags: Flags) -> Places:
    """Place of the first True of each row; the row's length where there is none."""
    first = flags.argmax(axis=1)
    none = ~flags[np.arange(len(flags)), first]
    return np.asarray(np.where(none, flags.shape[1], first), dtype=np.intp)


def _exponents(text: Bytes, ends: Places, marks: Places) -> tuple[Places, Floats, Flags]:
    """Where each mantissa ends, its power of ten, and whether the exponent is well formed."""
    exponents, found = np.zeros(len(ends)), np.ones(len(ends), dtype=np.bool_)
    has = np.flatnonzero(marks >= 0)
    if len(has):
        begin, end = marks[has] + 1, ends[has]
        exponents[has], found[has] = _decimals(text, begin, end)
        point = _first(sliding_window_view(text, _LONGEST)[begin] == _DOT)
        found[has] &= point >= end - begin
    return np.where(marks >= 0, marks, ends), exponents, found


def _decimals(text: Bytes, starts: Places, ends: Places) -> tuple[Floats, Flags]:
    """Signed decimals without exponent in text[start:end]."""
    values, found = np.zeros(len(starts)), np.zeros(len(starts), dtype=np.bool_)
    lengths = ends - starts
    lengths[(lengths < 0) | (lengths > _LONGEST)] = 0
    for length in np.flatnonzero(np.bincount(lengths)):
        if length:
            rows = np.flatnonzero(lengths == length)
            values[rows], found[rows] = _alike(text, starts[rows], int(length))
    rest = np.flatnonzero(~found & (lengths > 0))
    if len(rest):
        values[rest], found[rest] = _unalike(text, starts[rest], ends[rest])
    return values, found


def _alike(text: Bytes, starts: Places, length: int) -> tuple[Floats, Flags]:
    """Decimals of one length, written as the first of them is; others get False."""
    characters = sliding_window_view(text, length)[starts]
    first = _PATTERN.fullmatch(characters[0].tobytes())
    if first is None:
        return np.zeros(len(starts)), np.zeros(len(starts), dtype=np.bool_)
    whole, fraction = first.group("whole"), first.group("fraction") or b""
    point = first.end("whole")
    digits = characters - np.uint8(_ZERO)
    found = np.ones(len(starts), dtype=np.bool_)
    for place in [0] * (first.start("whole") == 1) + [point] * (point < length):
        found &= characters[:, place] == characters[0, place]
        digits[:, place] = 0
    found &= (digits <= 9).all(axis=1)
    powers = np.zeros(length)
    powers[first.start("whole") : point] = _POWERS[len(fraction) :][: len(whole)][::-1]
    powers[point + 1 :] = _POWERS[: len(fraction)][::-1]
    values = digits.astype(np.float64) @ powers / _POWERS[len(fraction)]
    return (-values if first.group("sign") == b"-" else values), found


def _unalike(text: Bytes, starts: Places, ends: Places) -> tuple[Floats, Flags]:
    """Decimals of any shape, read from the right, one place of all of them at a time."""
    lengths = ends - starts
    found = np.ones(len(starts), dtype=np.bool_)
    values, places = np.zeros(len(starts)), np.zeros(len(starts), dtype=np.intp)
    fraction = np.full(len(starts), -1, dtype=np.intp)
    for offset in range(int(lengths.max())):
        at = ends - 1 - offset
        inside = found & (at >= starts)
        character = text[np.where(inside, at, 0)]
        digit = inside & (character >= _ZERO) & (character <= _NINE)
        values += np.where(digit, (character - np.uint8(_ZERO)) * _POWERS[places], 0.0)
        places += digit
        other = inside & ~digit
        if other.any():
            _punctuation(character, other, at == starts, places, fraction, found)
    found &= places > 0
    values /= _POWERS[np.maximum(fraction, 0)]
    negative = text[starts] == _MINUS
    return np.where(negative, -values, values), found


def _punctuation(
    character: Bytes, other: Flags, first: Flags, places: Places, fraction: Places, found: Flags
) -> None:
    dot = other & (character == _DOT) & (fraction < 0)
    fraction[dot] = places[dot]
    sign = other & first & ((character == _MINUS) | (character == _PLUS))
    found &= ~(other & ~dot & ~sign)


def _scaled(values: Floats, exponents: Floats) -> Floats:
    """values · 10^exponents, in two steps so that numbers near the smallest survive."""
    if not (exponents != 0).any():
        return values
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        first = np.clip(exponents, -300, 300)
        for power in (first, np.clip(exponents - first, -300, 300)):
            factor = 10.0 ** np.abs(power)
            values = np.where(power > 0, values * factor, values / factor)
    return values


def _named(text: Bytes, starts: Places, values: Floats, found: Flags) -> None:
    """`nan` and `inf`, which are rare: one at a time, in place."""
    _named_by_microsoft(text, starts, values, found)
    first = text[starts]
    second = text[starts + 1]
    letter = np.where((first == _MINUS) | (first == _PLUS), second, first) | 0x20
    for i in np.flatnonzero(~found & ((letter == ord("n")) | (letter == ord("i")))):
        word = text[starts[i] : starts[i] + 4].tobytes().lower().lstrip(b"+-")[:3]
        if word in (b"nan", b"inf"):
            sign = -1.0 if first[i] == _MINUS else 1.0
            values[i], found[i] = sign * float(word), True


def _named_by_microsoft(text: Bytes, starts: Places, values: Floats, found: Flags) -> None:
    """`1.#INF`, `-1.#IND`, `1.#QNAN`, as older C libraries of Windows print them."""
    marked = (text[starts + 2] == _HASH) | (text[starts + 3] == _HASH)
    for i in np.flatnonzero(~found & marked):
        word = _OF_MICROSOFT.match(text[starts[i] : starts[i] + 8].tobytes())
        if word is not None:
            sign = -1.0 if text[starts[i]] == _MINUS else 1.0
            values[i], found[i] = sign * (np.inf if word.group("inf") else np.nan), True
