"""The kinds of quantity a person may write: their units and the range that makes sense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a field expects: its units, each as a multiple of one base unit.

    `units[""]` is what text without a unit means. `low` and `high` bound what is believable:
    beyond them a value is a slip (a unit left out, a prefix too many) rather than a plan.
    """

    name: str  # as an error says it
    unit: str  # of the result
    units: Mapping[str, float]  # in the base unit
    per: float = 1.0  # the result's unit, in the base unit
    low: float = 0.0  # smallest believable value above zero
    high: float  # largest believable value
    example: str
    case: bool = True  # whether the units' upper and lower case differ in meaning


_PREFIXES = {"k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12, "p": 1e15, "q": 1e15}
_BYTES = {
    **{f"{p}B": 10.0 ** (3 * (i + 1)) for i, p in enumerate("kMGTPE")},
    **{f"{p}iB": 1024.0 ** (i + 1) for i, p in enumerate("KMGTPE")},
    "KB": 1e3,
    "B": 1.0,
}
_BITS = {
    f"{p}{bit}": value / 8
    for p, value in {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}.items()
    for bit in ("bit", "b")
}
_SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("w", "week", "weeks"), 7 * 86400.0),
    **dict.fromkeys(("y", "year", "years"), 365.25 * 86400.0),
}
_PER_SECOND = {
    **{f"{unit}/s": size for unit, size in (_BYTES | _BITS).items()},
    **{f"{p}bps": size for p, size in (("k", 125.0), ("M", 1.25e5), ("G", 1.25e8), ("T", 1.25e11))},
}


def _counted(*things: str) -> dict[str, float]:
    """Prefixes alone and with a thing's name: 300B, 300B tokens, 300 tokens."""
    bare = {"": 1.0, **_PREFIXES}
    return {f"{p}{thing}": size for p, size in bare.items() for thing in ("", *things)}


COUNT = Kind(
    name="a count",
    unit="",
    units=_counted(),
    high=1e9,
    example="64 or 2.5k",
    case=False,
)
TOKENS = Kind(
    name="a number of tokens or samples",
    unit="",
    units=_counted("tokens", "tok", "samples", "sequences", "images", "steps"),
    low=1.0,
    high=1e18,
    example="1e12, 1T or 300B",
    case=False,
)
SEQUENCE = Kind(
    name="a sequence length in tokens, every digit (8k is 8000 to some and 8192 to others)",
    unit="tokens",
    units={"": 1.0, "tokens": 1.0},
    high=1e8,
    example="8192",
    case=False,
)
BYTES = Kind(
    name="a memory size",
    unit="B",
    units={
        "": 1.0,
        **_BYTES,
        **{unit.lower(): size for unit, size in _BYTES.items() if unit != "B"},
    },
    low=1e6,
    high=1e18,
    example="80GiB or 80GB",
)
SECONDS = Kind(
    name="a duration",
    unit="s",
    units={"": 1.0, **_SECONDS},
    low=1e-9,
    high=3.2e10,
    example="12h or 3.5days",
    case=False,
)
DAYS = Kind(
    name="a number of days",
    unit="days",
    units={"": 86400.0, **_SECONDS},
    per=86400.0,
    low=1e-6,
    high=36525.0,
    example="3.5, 3.5days or 12h",
    case=False,
)
BYTES_PER_SECOND = Kind(
    name="a bandwidth",
    unit="B/s",
    units=_PER_SECOND,
    low=1e3,
    high=1e15,
    example="400Gbit/s or 50GB/s",
)
BITS_PER_SECOND = Kind(
    name="a bandwidth",
    unit="Gbit/s",
    units={"": 1.25e8, **_PER_SECOND},
    per=1.25e8,
    low=1e-3,
    high=1e6,
    example="400 (Gbit/s per accelerator), 400Gbit/s or 50GB/s",
)
WATTS = Kind(
    name="a power",
    unit="W",
    units={"": 1.0, "w": 1.0, "watt": 1.0, "watts": 1.0, "kw": 1e3, "mw": 1e6},
    low=1.0,
    high=1e5,
    example="700, 700W or 0.7kW",
    case=False,
)
KWH = Kind(
    name="an energy",
    unit="kWh",
    units={"": 1.0, "kwh": 1.0, "wh": 1e-3, "mwh": 1e3, "gwh": 1e6},
    low=1e-9,
    high=1e12,
    example="2100, 2100kWh or 2.1MWh",
    case=False,
)
USD = Kind(
    name="an amount of money",
    unit="USD",
    units=_counted("usd"),
    low=1e-6,
    high=1e13,
    example="48300, $48,300 or 48.3k",
    case=False,
)
RATE = Kind(
    name="a rate per second",
    unit="1/s",
    units=_counted("/s", "samples/s", "tokens/s"),
    low=1e-6,
    high=1e12,
    example="1200, 1.2k or 1200/s",
    case=False,
)
FRACTION = Kind(
    name="a share",
    unit="",
    units={"": 1.0, "%": 0.01},
    low=1e-9,
    high=1.0,
    example="0.4 or 40%",
)
