"""Amounts change currency by a dated rate, never by relabelling."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hardware_db.errors import HardwareError, MissingRate


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """An amount of money and, when it was converted, at what rate and of which day."""

    amount: float
    currency: str  # ISO 4217
    rate: float | None  # units of `currency` per unit of the currency it came from
    rate_date: str | None  # as its giver stated it


def convert(
    amount: float,
    source: str,
    target: str,
    *,
    rate: float | None = None,
    rate_date: str | None = None,
) -> Amount:
    """`amount` of `source` in `target`; refuses without a rate and its date.

    >>> convert(100, "USD", "EUR", rate=0.92, rate_date="2026-08-01")
    Amount(amount=92.0, currency='EUR', rate=0.92, rate_date='2026-08-01')
    >>> convert(100, "USD", "EUR")
    Traceback (most recent call last):
    hardware_db.errors.MissingRate: rate: None: state the rate in EUR per USD
    """
    here, there = _currency(source), _currency(target)
    if not math.isfinite(amount):
        raise HardwareError("amount", amount, "give a finite amount")
    if here == there:
        return Amount(amount=amount, currency=there, rate=None, rate_date=None)
    if rate is None:
        raise MissingRate("rate", rate, f"state the rate in {there} per {here}")
    if not (math.isfinite(rate) and rate > 0):
        raise HardwareError("rate", rate, "an exchange rate is a positive number")
    if not rate_date:
        raise MissingRate("rate_date", rate_date, "state the day of the exchange rate")
    return Amount(amount=amount * rate, currency=there, rate=rate, rate_date=rate_date)


def _currency(code: str) -> str:
    name = str(code).strip().upper()
    if not (len(name) == 3 and name.isascii() and name.isalpha()):
        raise HardwareError("currency", code, "give a three-letter code such as USD or EUR")
    return name
