"""Quantities of scaling laws as people write them on the command line."""

from __future__ import annotations

from planner.quantities import TOKENS, Kind, read

_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}

PARAMS = Kind(
    name="a number of parameters",
    unit="",
    units={
        f"{prefix}{word}": size for prefix, size in _PREFIXES.items() for word in ("", "params")
    },
    low=1e3,
    high=1e15,
    example="7e9, 7B or 124M",
    case=False,
)
FLOPS = Kind(
    name="an amount of training compute in FLOP",
    unit="FLOP",
    units={
        "": 1.0,
        **{f"{p}FLOP": size for p, size in {"P": 1e15, "E": 1e18, "Z": 1e21, "Y": 1e24}.items()},
        "PFLOP-days": 8.64e19,
    },
    low=1e9,
    high=1e32,
    example="5.76e23 or 10EFLOP",
)
LOSS = Kind(
    name="a loss in nats per token",
    unit="nats per token",
    units={"": 1.0},
    low=1e-3,
    high=100.0,
    example="2.31",
)
NUMBER = Kind(name="a number", unit="", units={"": 1.0}, high=1e30, example="0.5 or 2e-3")


def tokens(field: str, value: str | None) -> float | None:
    """Tokens, or None where the option was not given."""
    return None if value is None else read(TOKENS, field, value)


def amount(kind: Kind, field: str, value: str | None) -> float | None:
    """A quantity of `kind`, or None where the option was not given."""
    return None if value is None else read(kind, field, value)


def show_compute(flops: float) -> str:
    """Training compute as the literature writes it.

    >>> show_compute(5.76e23)
    '5.76e23 FLOP'
    """
    return f"{flops:.3g} FLOP".replace("e+", "e")
