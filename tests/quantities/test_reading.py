"""Quantities as people write them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.quantities import (
    BITS_PER_SECOND,
    BYTES,
    BYTES_PER_SECOND,
    COUNT,
    DAYS,
    FRACTION,
    KWH,
    RATE,
    SECONDS,
    SEQUENCE,
    TOKENS,
    USD,
    WATTS,
    Kind,
    read,
    read_whole,
)

KINDS = (BITS_PER_SECOND, BYTES, BYTES_PER_SECOND, COUNT, DAYS, FRACTION, KWH, RATE)
KINDS += (SECONDS, SEQUENCE, TOKENS, USD, WATTS)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (TOKENS, "1e12", 1e12),
        (TOKENS, "1.0e12", 1e12),
        (TOKENS, "1T", 1e12),
        (TOKENS, "1.1T", 1.1e12),
        (TOKENS, "300B", 3e11),
        (TOKENS, "300 B tokens", 3e11),
        (TOKENS, "300b", 3e11),
        (TOKENS, "2.5k", 2500),
        (TOKENS, "1,000,000", 1e6),
        (TOKENS, "1_000_000", 1e6),
        (TOKENS, "+7", 7),
        (TOKENS, " .5k ", 500),
        (BYTES, "80GiB", 80 * 2**30),
        (BYTES, "80GB", 80e9),
        (BYTES, "80gib", 80 * 2**30),
        (BYTES, "1.5 TiB", 1.5 * 2**40),
        (SECONDS, "3.5days", 3.5 * 86400),
        (SECONDS, "12h", 43200),
        (SECONDS, "30 min", 1800),
        (SECONDS, "250ms", 0.25),
        (DAYS, "12h", 0.5),
        (DAYS, "3.5days", 3.5),
        (DAYS, "3.5", 3.5),
        (BYTES_PER_SECOND, "400Gbit/s", 5e10),
        (BYTES_PER_SECOND, "400Gb/s", 5e10),
        (BYTES_PER_SECOND, "400Gbps", 5e10),
        (BYTES_PER_SECOND, "3.35TB/s", 3.35e12),
        (BITS_PER_SECOND, "400", 400),
        (BITS_PER_SECOND, "400Gbit/s", 400),
        (BITS_PER_SECOND, "50GB/s", 400),
        (WATTS, "0.7kW", 700),
        (KWH, "2.1MWh", 2100),
        (USD, "$48,300", 48300),
        (USD, "48.3k", 48300),
        (FRACTION, "40%", 0.4),
        (FRACTION, "0.4", 0.4),
        (RATE, "1.2k samples/s", 1200),
    ],
)
def test_a_written_quantity_is_read_exactly(kind: Kind, text: str, value: float) -> None:
    assert read(kind, "field", text) == value


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(
    "value",
    ["nan", "-nan", ".nan", "inf", "-.inf", "Infinity", "1e999", "-5", "0", "0.0", "1e-400", ""]
    + ["5 parsecs", "five", "--5", "5e", "1.2.3", "1,00", "٣", "0x10", "1" * 100, "e5", ".", "%"]
    + [float("nan"), float("inf"), -1, 0, 10**400, True, None, [1], {"a": 1}, b"1", 1j],
)
def test_what_is_no_sensible_quantity_is_refused_by_field(kind: Kind, value: object) -> None:
    with pytest.raises(PlannerError) as refused:
        read(kind, "some.field", value)
    assert refused.value.field == "some.field"
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (TOKENS, "5GB"),
        (TOKENS, "$5"),
        (TOKENS, "1e19"),
        (TOKENS, "12h"),
        (BYTES, "80Gb"),
        (BYTES, "80Gbit"),
        (BYTES, "512"),
        (SECONDS, "30m"),
        (BYTES_PER_SECOND, "400"),
        (BYTES_PER_SECOND, "400gb/s"),
        (SEQUENCE, "8k"),
        (COUNT, "8gpus"),
        (FRACTION, "40"),
        (WATTS, "700J"),
        (DAYS, "500years"),
    ],
)
def test_a_wrong_or_ambiguous_unit_or_an_absurd_size_is_refused(kind: Kind, text: str) -> None:
    with pytest.raises(PlannerError):
        read(kind, "field", text)


def test_the_remedy_shows_how_to_write_it() -> None:
    with pytest.raises(PlannerError, match="such as 80GiB or 80GB"):
        read(BYTES, "hardware.host_memory", "80Gb")


def test_array_scalars_are_numbers() -> None:
    assert read_whole(COUNT, "field", np.int64(8)) == 8
    assert read(WATTS, "field", np.float32(700)) == 700


def test_a_share_of_a_thing_is_not_a_number_of_things() -> None:
    with pytest.raises(PlannerError, match="whole number"):
        read_whole(COUNT, "field", "1.5")


@given(st.integers(min_value=1, max_value=10**18))
def test_whole_numbers_keep_every_digit_that_a_float_can(number: int) -> None:
    assert read_whole(TOKENS, "field", number) == number
    assert read_whole(TOKENS, "field", str(number)) == int(float(number))


@given(st.floats(min_value=1e-6, max_value=1e12))
def test_a_float_as_python_writes_it_is_read_back(number: float) -> None:
    assert read(RATE, "field", repr(number)) == number


@given(st.floats(min_value=0.001, max_value=999), st.sampled_from(sorted(SECONDS.units)))
def test_a_unit_scales_a_number(number: float, unit: str) -> None:
    expected = number * SECONDS.units[unit]
    assert read(SECONDS, "field", f"{number:.6f}{unit}") == pytest.approx(expected, rel=1e-3)


@given(st.text(max_size=80), st.sampled_from(KINDS))
def test_any_text_is_read_or_refused_and_nothing_else(text: str, kind: Kind) -> None:
    try:
        value = read(kind, "field", text)
    except PlannerError:
        return
    assert kind.low <= value <= kind.high
