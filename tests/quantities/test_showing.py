"""Numbers shown to people."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.quantities import (
    TOKENS,
    Show,
    read,
    show_bytes,
    show_carbon,
    show_count,
    show_duration,
    show_energy,
    show_flops,
    show_interval,
    show_percent,
    show_rate,
    show_span,
    show_usd,
    show_whole,
)

ALL = [show_bytes, show_carbon, show_count, show_duration, show_energy, show_flops]
ALL += [show_percent, show_usd, show_whole]


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (show_count(1.2e12, "tokens"), "1.2 T tokens"),
        (show_count(999_600), "1 M"),
        (show_count(999_400), "999 k"),
        (show_count(0), "0"),
        (show_bytes(63.1 * 2**30), "63.1 GiB"),
        (show_bytes(80 * 2**30), "80 GiB"),
        (show_bytes(1000 * 2**30), "1,000 GiB"),
        (show_bytes(1023.9 * 2**30), "1 TiB"),
        (show_duration(11.2 * 86400), "11.2 days"),
        (show_duration(0.0032), "3.2 ms"),
        (show_duration(3 * 365.25 * 86400), "3 years"),
        (show_duration(0), "0 s"),
        (show_usd(48_300), "$48,300"),
        (show_usd(999_600), "$1 M"),
        (show_usd(0), "$0.00"),
        (show_usd(-12.5), "-$12.50"),
        (show_usd(0.0021), "$0.0021"),
        (show_energy(2100), "2.1 MWh"),
        (show_carbon(812), "812 kg CO2e"),
        (show_rate(4e11, "bit"), "400 Gbit/s"),
        (show_rate(3.35e12, "B"), "3.35 TB/s"),
        (show_rate(812_000, "tokens"), "812 k tokens/s"),
        (show_flops(4.12e14, per_second=True), "412 TFLOP/s"),
        (show_percent(0.413), "41.3 %"),
        (show_interval(show_usd, 48_300, 40_000, 58_000), "$48,300 ($40,000 to $58,000)"),
        (show_interval(show_duration, 86400, 3600, 86400 * 3), "24 h (1 to 72)"),
        (show_interval(show_duration, 115 * 60, 84.7 * 60, 2.99 * 3600), "115 min (84.7 to 179)"),
        (show_interval(show_usd, 1.2e6, 8e5, 1.6e6), "$1.2 M ($0.8 M to $1.6 M)"),
        (show_interval(show_bytes, 1.1 * 2**40, 2**39, 2**41), "1.1 TiB (0.5 to 2)"),
        (show_interval(show_usd, None, None, None), "unknown"),
        (show_span(show_duration, 84.7 * 60, 2.99 * 3600), "1.41 to 2.99 h"),
        (show_span(show_duration, 84.7 * 60, 2.99 * 3600, like=115 * 60), "84.7 to 179 min"),
    ],
)
def test_a_number_reads_as_a_person_would_say_it(shown: str, text: str) -> None:
    assert shown == text


@pytest.mark.parametrize("show", ALL, ids=lambda show: show.__name__)
def test_what_is_not_known_is_never_zero(show: Callable[..., str]) -> None:
    assert show(None) == "unknown"


@pytest.mark.parametrize("show", ALL[:-1], ids=lambda show: show.__name__)
@given(st.floats(min_value=1e-5, max_value=1e17))
def test_three_digits_stay_true(show: Callable[..., str], value: float) -> None:
    text = show(value)
    assert "e+" not in text
    assert re.search(r"\d", text)


@pytest.mark.parametrize("show", [show_bytes, show_count, show_duration, show_energy, show_usd])
@given(st.floats(min_value=1, max_value=1e12), st.floats(1, 30), st.floats(1, 30))
def test_a_span_has_one_unit(show: Show, best: float, below: float, above: float) -> None:
    low, high = best / below, best * above
    for text in (show_interval(show, best, low, high), show_span(show, low, high)):
        assert len(set(re.findall(r"[A-Za-zµ]+", text.replace(" to ", " ")))) <= 1, text


def test_the_ends_of_an_enormous_span_keep_their_own_units() -> None:
    assert show_interval(show_duration, 86_400 * 9, 60, 86_400 * 20) == "9 days (60 s to 20 days)"


@given(st.floats(min_value=1, max_value=9e17))
def test_a_shown_count_reads_back_to_three_digits(value: float) -> None:
    assert read(TOKENS, "field", show_count(value)) == pytest.approx(value, rel=6e-3)


def test_nan_never_reaches_a_person() -> None:
    with pytest.raises(AssertionError):
        show_duration(float("nan"))
