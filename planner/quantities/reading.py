"""Read `1T`, `80GiB`, `3.5days` or a plain number as the quantity that a field expects."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from numbers import Real

from planner.errors import PlannerError
from planner.quantities.kinds import Kind

_LONGEST = 60  # characters of a written quantity
_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<dollar>\$?)"
    r"(?P<whole>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+(?:_[0-9]+)*)?(?P<fraction>\.[0-9]*)?"
    r"(?:[eE](?P<power>[+-]?[0-9]+))?"
    r"\s*(?P<unit>[A-Za-zµ%][A-Za-z/ ]*)?"
)
_ENDLESS = frozenset({"nan", "inf", "infinity"})


def read(kind: Kind, field: str, value: object) -> float:
    """The quantity that `value` states, in `kind.unit`; strings may carry prefixes and units.

    Raises PlannerError naming `field` for what is no number, a wrong unit, a value that is
    negative, zero, NaN or infinite, and one outside what is believable for the kind.

    >>> from planner.quantities import BYTES, SECONDS, TOKENS
    >>> read(TOKENS, "data.tokens", "1.4T"), read(BYTES, "hardware.host_memory", "80GiB")
    (1400000000000.0, 85899345920.0)
    >>> read(SECONDS, "time", "12h")
    43200.0
    """
    if isinstance(value, bool) or not isinstance(value, Real | str):
        raise PlannerError(field, value, f"write {kind.name}, such as {kind.example}")
    amount = _from_text(kind, field, value) if isinstance(value, str) else _finite(field, value)
    return _believable(kind, field, value, amount)


def read_whole(kind: Kind, field: str, value: object) -> int:
    """As `read`, for what is counted in whole numbers.

    >>> from planner.quantities import COUNT
    >>> read_whole(COUNT, "hardware.count", "2k")
    2000
    """
    amount = read(kind, field, value)
    if not amount.is_integer():
        raise PlannerError(field, value, f"write a whole number, such as {kind.example}")
    return int(value) if isinstance(value, int) else int(amount)


def _finite(field: str, value: Real | str, shown: str | None = None) -> float:
    try:
        amount = float(value)
    except OverflowError:  # an integer beyond every float
        amount = math.inf
    if not math.isfinite(amount):
        raise PlannerError(field, shown or amount, "write a finite number")
    return amount


def _from_text(kind: Kind, field: str, text: str) -> float:
    stripped = text.strip()
    if stripped.lower().lstrip("+-.") in _ENDLESS:
        raise PlannerError(field, text, "write a finite number")
    match = _QUANTITY.fullmatch(stripped) if len(stripped) <= _LONGEST else None
    if match is None or not _is_number(match) or (match["dollar"] and kind.unit != "USD"):
        raise PlannerError(field, text, f"write {kind.name}, such as {kind.example}")
    factor = _factor(kind, field, text, match["unit"] or "")
    whole = (match["whole"] or "0").replace(",", "").replace("_", "")
    digits = f"{match['sign']}{whole}{match['fraction'] or ''}e{match['power'] or '0'}"
    if not _finite(field, digits, text):
        return 0.0
    # in decimal, so that 1.1T is 1100000000000 and not a neighbour of it
    return float(Decimal(digits) * Decimal(repr(factor)) / Decimal(repr(kind.per)))


def _is_number(match: re.Match[str]) -> bool:
    return bool(match["whole"]) or len(match["fraction"] or "") > 1


def _factor(kind: Kind, field: str, text: str, unit: str) -> float:
    plain = unit.strip().replace(" ", "")
    known = kind.units.get(plain if kind.case else plain.lower())
    if known is None:
        wrong = f"unknown unit {plain!r}: " if plain else "the unit is missing: "
        raise PlannerError(field, text, f"{wrong}write {kind.name}, such as {kind.example}")
    return known


def _believable(kind: Kind, field: str, value: object, amount: float) -> float:
    if amount <= 0:
        raise PlannerError(field, value, f"write a number above zero, such as {kind.example}")
    if not kind.low <= amount <= kind.high:
        side = f"at least {kind.low:.3g}" if amount < kind.low else f"at most {kind.high:.3g}"
        wanted = f"{side} {kind.unit}".rstrip()
        raise PlannerError(field, value, f"not believable: {wanted}, such as {kind.example}")
    return amount
