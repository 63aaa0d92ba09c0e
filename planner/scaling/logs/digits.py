"""Plain decimals out of raw bytes, eight characters at a time.

Eight bytes of text are one 64-bit word; the arithmetic on whole words that turns them into a
number is D. Lemire's (Number parsing at a gigabyte per second, 2021, section 4), here over arrays
of words. What is no plain decimal is left to the caller.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Places = NDArray[np.intp]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]

_MOST_FRACTION, _MOST_DIGITS = 16, 19  # digits that fit two words, and a 64-bit integer
_POWERS = 10.0 ** np.arange(_MOST_FRACTION + 1)
_WHOLE_POWERS = 10 ** np.arange(_MOST_FRACTION + 1, dtype=np.uint64)
_DOT, _MINUS, _COMMA = ord("."), ord("-"), ord(",")
_GOES_ON = np.zeros(256, dtype=np.bool_)  # behind a number that is no plain decimal, or none
_GOES_ON[list(b"0123456789+-.eE#_dDxX")] = True


def _each(byte: int) -> np.uint64:
    return np.uint64(int.from_bytes(bytes([byte] * 8)))


_ZEROS, _LOW, _BEYOND_NINE, _HIGH = _each(ord("0")), _each(0x7F), _each(0x76), _each(0x80)
_TEN, _BYTE, _TWO_BYTES, _FOUR_BYTES = (np.uint64(number) for number in (10, 8, 16, 32))
_PAIR = np.uint64(0x000000FF_000000FF)
_ODD, _EVEN = np.uint64(0x000F4240_00000064), np.uint64(0x00002710_00000001)


def plain_decimals(text: Bytes, starts: Places, *, comma: str = "ends") -> tuple[Floats, Flags]:
    """The decimals of at most 8 digits before the point and 16 behind it that begin at `starts`,
    and which of them are such; the values of the others mean nothing. `text` is padded.

    `comma` says what a comma between digits is: it `ends` a number, or it `belongs` to one, which
    is then no plain decimal.

    >>> text = np.frombuffer(b"1.25 -7 2e3 x" + bytes(64), dtype=np.uint8)
    >>> values, found = plain_decimals(text, np.array([0, 5, 8, 12]))
    >>> values[found].tolist(), found.tolist()
    ([1.25, -7.0], [True, True, False, False])
    """
    words = np.ndarray((len(text) - 7,), dtype="<u8", buffer=text, strides=(1,))
    negative = text[starts] == _MINUS
    starts = starts + negative
    whole, length = _digits(words[starts])
    ends = starts + length
    pointed = text[ends] == _DOT
    ends += pointed
    fraction, places = _fraction(words, ends, pointed)
    ends += places
    found = (length > 0) & (length + places <= _MOST_DIGITS)
    found &= ~_GOES_ON[text[ends]]
    if comma == "belongs":
        found &= ~follows_comma(text, ends)
    places[~found] = 0
    values = (whole * _WHOLE_POWERS[places] + fraction) / _POWERS[places]
    return np.where(negative, -values, values), found


def follows_comma(text: Bytes, ends: Places) -> Flags:
    """Where a comma and a digit stand at `ends`: decimals or thousands that a comma divides."""
    found: Flags = text[ends] == _COMMA
    if found.any():
        found &= (text[ends + 1] - np.uint8(ord("0"))) <= 9
    return found


def _digits(words: Words) -> tuple[Words, Places]:
    """The number that the leading digits of each word spell, and how many they are."""
    words = words ^ _ZEROS
    others = (((words & _LOW) + _BEYOND_NINE) | words) & _HIGH  # the high bit of what is no digit
    bits = np.bitwise_count((others & -others) - np.uint64(1)) & np.uint8(0xF8)
    words <<= np.uint64(64) - bits
    words = words * _TEN + (words >> _BYTE)  # two digits in every other byte
    odd, even = words & _PAIR, (words >> _TWO_BYTES) & _PAIR
    return (odd * _ODD + even * _EVEN) >> _FOUR_BYTES, (bits >> np.uint8(3)).astype(np.intp)


def _fraction(words: Words, starts: Places, pointed: Flags) -> tuple[Words, Places]:
    """The first digits behind the points, as a number, and how many they are (16 at most)."""
    if not pointed.any():
        return np.zeros(len(starts), dtype=np.uint64), np.zeros(len(starts), dtype=np.intp)
    digits, places = _digits(words[starts])
    digits[~pointed], places[~pointed] = 0, 0
    long = np.flatnonzero(places == 8)
    if len(long):
        more, further = _digits(words[starts[long] + 8])
        digits[long] = digits[long] * _WHOLE_POWERS[further] + more
        places[long] += further
    return digits, places
