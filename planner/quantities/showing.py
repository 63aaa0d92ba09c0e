"""Show SI numbers to people: the only place where a number becomes words.

Three significant digits, the unit that keeps the number short, thousands separated. A number that
is not known (None) is shown as `unknown`, never as 0. `like` names another value whose unit is
taken, so that figures that are read together share theirs.
"""

from __future__ import annotations

import math
from typing import Protocol

UNKNOWN = "unknown"
FAR = 1000  # times, beyond which two figures do not share a unit
_COUNT_STEPS = ((1e15, "P"), (1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
_SI_STEPS = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY_STEPS = tuple(
    (1024.0**power, f"{p}iB") for power, p in ((4, "T"), (3, "G"), (2, "M"), (1, "K"))
)
_DURATION_STEPS = (
    (2 * 365.25 * 86400.0, 365.25 * 86400.0, "years"),
    (2 * 86400.0, 86400.0, "days"),
    (2 * 3600.0, 3600.0, "h"),
    (120.0, 60.0, "min"),
    (1.0, 1.0, "s"),
    (1e-3, 1e-3, "ms"),
    (0.0, 1e-6, "µs"),
)


class Show(Protocol):
    """Turns a value into words, in the unit of `like` where one is given."""

    def __call__(self, value: float | None, /, *, like: float | None = None) -> str: ...


def show_count(value: float | None, thing: str = "", *, like: float | None = None) -> str:
    """A large number of things, short.

    >>> show_count(1.2e12, "tokens"), show_count(8_030_261_248), show_count(512)
    ('1.2 T tokens', '8.03 B', '512')
    """
    return UNKNOWN if value is None else _joined(_stepped(value, _COUNT_STEPS, like), thing)


def show_whole(value: float | None, thing: str = "") -> str:
    """A number of things, every digit.

    >>> show_whole(124439808, "parameters")
    '124,439,808 parameters'
    """
    return UNKNOWN if value is None else _joined(f"{round(value):,}", thing)


def show_bytes(value: float | None, *, like: float | None = None) -> str:
    """A memory size in binary units.

    >>> show_bytes(67_753_000_000), show_bytes(512)
    ('63.1 GiB', '512 B')
    """
    if value is None:
        return UNKNOWN
    if abs(value if like is None else like) < 1024:
        return f"{_digits(value)} B"
    return _stepped(value, _BINARY_STEPS, like)


def show_rate(value: float | None, unit: str) -> str:
    """Something per second, with decimal prefixes: `unit` is what is counted, B or tokens.

    >>> show_rate(5e10, "B"), show_rate(812_000, "tokens")
    ('50 GB/s', '812 k tokens/s')
    """
    if value is None:
        return UNKNOWN
    if len(unit) > 1 and unit != "bit":
        return f"{show_count(value, unit)}/s"
    return f"{_si(value, unit)}/s"


def show_flops(value: float | None, *, per_second: bool = False) -> str:
    """Floating-point operations, or their rate.

    >>> show_flops(6.4e22), show_flops(4.12e14, per_second=True)
    ('64,000 EFLOP', '412 TFLOP/s')
    """
    if value is None:
        return UNKNOWN
    return _si(value, "FLOP") + ("/s" if per_second else "")


def show_duration(seconds: float | None, *, like: float | None = None) -> str:
    """A time in the unit that suits it.

    >>> show_duration(967_680), show_duration(0.0123), show_duration(5400)
    ('11.2 days', '12.3 ms', '90 min')
    >>> show_duration(5400, like=10_800)
    '1.5 h'
    """
    if seconds is None:
        return UNKNOWN
    assert math.isfinite(seconds), f"{seconds} must not reach a person"
    if seconds == 0 and not like:
        return "0 s"
    sized = abs(like or seconds)
    size, unit = next((s, u) for least, s, u in _DURATION_STEPS if sized >= least)
    return f"{_digits(seconds / size)} {unit}"


def show_usd(value: float | None, *, like: float | None = None) -> str:
    """Money: cents below a thousand dollars, three digits above.

    >>> show_usd(48_312.4), show_usd(12.3), show_usd(5.61e6)
    ('$48,300', '$12.30', '$5.61 M')
    """
    if value is None:
        return UNKNOWN
    sign, amount = ("-" if value < 0 else ""), abs(value)
    if abs(amount if like is None else like) >= 999_500:
        return f"{sign}${_stepped(amount, ((1e9, 'B'), (1e6, 'M')), like)}"
    if 0 < amount < 0.1:
        return f"{sign}${_digits(amount)}"
    return f"{sign}${_digits(amount) if amount >= 1000 else f'{amount:.2f}'}"


def show_energy(kwh: float | None, *, like: float | None = None) -> str:
    """Energy from kilowatt-hours.

    >>> show_energy(2_104), show_energy(0.25)
    ('2.1 MWh', '250 Wh')
    """
    return UNKNOWN if kwh is None else _si(kwh * 1e3, "Wh", None if like is None else like * 1e3)


def show_carbon(kgco2e: float | None) -> str:
    """Greenhouse gas from kilograms of CO2 equivalent.

    >>> show_carbon(812.4), show_carbon(81_240)
    ('812 kg CO2e', '81.2 t CO2e')
    """
    if kgco2e is None:
        return UNKNOWN
    if abs(kgco2e) >= 1000:
        return f"{_digits(kgco2e / 1000)} t CO2e"
    return f"{_digits(kgco2e)} kg CO2e"


def show_percent(fraction: float | None) -> str:
    """A fraction as a percentage.

    >>> show_percent(0.4126)
    '41.3 %'
    """
    return UNKNOWN if fraction is None else f"{_digits(fraction * 100)} %"


def show_number(spec: str) -> Show:
    """A number without a unit, by a format specification.

    >>> show_number(".3f")(2.08)
    '2.080'
    """

    def show(value: float | None, /, *, like: float | None = None) -> str:
        return UNKNOWN if value is None else format(value, spec)

    return show


def show_interval(show: Show, value: float | None, low: float | None, high: float | None) -> str:
    """A figure with its interval, all in the figure's unit, which is said once.

    >>> show_interval(show_duration, 967_680, 857_000, 1_105_900)
    '11.2 days (9.92 to 12.8)'
    >>> show_interval(show_duration, 6900, 5082, 10_764)
    '115 min (84.7 to 179)'
    """
    best = show(value)
    if low is None or high is None:
        return best
    ends = [show(end, like=_near(value, end)) for end in (low, high)]
    return f"{best} ({_unit_once(ends, best)})"


def show_span(
    show: Show, low: float | None, high: float | None, *, like: float | None = None
) -> str:
    """From low to high in one unit: that of `like`, or of the upper end.

    >>> show_span(show_duration, 5082, 10_764)
    '1.41 to 2.99 h'
    """
    ends = [show(end, like=_near(high if like is None else like, end)) for end in (low, high)]
    return f"{_unit_once(ends[:1], ends[1])} to {ends[1]}"


def _near(like: float | None, end: float | None) -> float | None:
    """`like` where an end is near enough for its unit; a millionth of a day is not said in days."""
    return like if like and end and 1 / FAR <= end / like <= FAR else None


def _unit_once(ends: list[str], best: str) -> str:
    """The ends without the unit that `best` says; money keeps its own, as $1 is not $1 M."""
    unit = best.partition(" ")[2]
    if (
        unit
        and not best.startswith(("$", "-$"))
        and all(end.partition(" ")[2] == unit for end in ends)
    ):
        ends = [end.partition(" ")[0] for end in ends]
    return " to ".join(ends)


def _digits(value: float) -> str:
    """Three significant digits, thousands separated, no exponent for what a person meets."""
    assert math.isfinite(value), f"{value} must not reach a person"
    if value == 0:
        return "0"
    if abs(value) < 1e-4:
        return f"{value:.3g}"
    rounded = float(f"{value:.3g}")
    decimals = max(0, 2 - math.floor(math.log10(abs(rounded))))
    text = f"{rounded:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _stepped(value: float, steps: tuple[tuple[float, str], ...], like: float | None = None) -> str:
    """`value` in the largest step that leaves at least 1 of it, or of `like`, after rounding."""
    sized = abs(value if like is None else like)
    for size, name in steps:
        if float(f"{sized / size:.3g}") >= 1:
            return f"{_digits(value / size)} {name}"
    return _digits(value)


def _si(value: float, unit: str, like: float | None = None) -> str:
    text = _stepped(value, _SI_STEPS, like)
    return f"{text}{unit}" if " " in text else f"{text} {unit}"


def _joined(number: str, thing: str) -> str:
    return f"{number} {thing}".rstrip()
