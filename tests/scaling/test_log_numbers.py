"""Numbers are read in bulk exactly as Python reads them one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.scaling.logs.numbers import padded, parse_numbers

ODD = ("", "-", "+", ".", "1.2.3", "1-2", "e5", "1e", "1e+", "--1", "x", "1e-400", "nanx", "5.")
WORDS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.integers(-(10**12), 10**12).map(str),
    st.sampled_from(ODD),
    st.text("0123456789.+-eE", max_size=12),
)


def read_back(words: list[str]) -> tuple[list[float], list[bool]]:
    text = padded((" ".join(words) + "\n").encode())
    starts = np.cumsum([0, *(len(word) + 1 for word in words[:-1])]).astype(np.intp)
    values, found = parse_numbers(text, starts)
    return values.tolist(), found.tolist()


@given(st.lists(WORDS, min_size=1, max_size=40))
def test_a_number_is_found_where_python_finds_one(words: list[str]) -> None:
    values, found = read_back(words)
    for word, value, was_found in zip(words, values, found, strict=True):
        try:
            expected = float(word)
        except ValueError:
            assert not was_found or word.startswith("nan"), word
            continue
        assert was_found, word
        assert value == pytest.approx(expected, rel=1e-14, abs=1e-321, nan_ok=True), word


def test_many_numbers_of_one_shape_are_read_together() -> None:
    words = [f"{3 + i / 1e4:.4f}" for i in range(2000)]
    values, found = read_back(words)
    assert all(found)
    assert values == [float(word) for word in words]


@given(st.lists(st.decimals(-(10**7), 10**7, places=7).map(str), min_size=1, max_size=40))
def test_a_plain_decimal_is_read_to_the_last_bit(words: list[str]) -> None:
    plain = [word for word in words if "E" not in word]
    values, found = read_back([*plain, "0"])
    assert all(found)
    assert values == [*map(float, plain), 0.0]


@pytest.mark.parametrize("word", ["1_000", "1.5D+02", "2.5d3", "0x10", "+.", "-."])
def test_a_number_in_another_notation_is_not_cut_to_its_first_digits(word: str) -> None:
    assert read_back([word, "2.5"])[1] == [False, True]


@pytest.mark.parametrize("word", ["2,61", "1,990", "1,234.5"])
def test_a_comma_between_digits_belongs_to_a_number_or_ends_it(word: str) -> None:
    text, start = padded(word.encode()), np.array([0])
    assert not parse_numbers(text, start, comma="belongs")[1][0]
    assert parse_numbers(text, start)[0][0] == float(word[0])
    ended, found = parse_numbers(padded(b"2.5, 7"), start, comma="belongs")
    assert (ended[0], found[0]) == (2.5, True)


def test_what_windows_prints_for_infinity_is_infinite() -> None:
    values, found = read_back(["1.#INF", "-1.#INF", "1.#QNAN", "-1.#IND", "2.5"])
    assert all(found)
    assert values[:2] == [np.inf, -np.inf]
    assert np.isnan(values[2:4]).all()
