"""The limits a run must keep and the price that applies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from planner.quantities import DAYS, KWH, USD
from planner.run.keys import key, read_fields
from planner.run.values import amount, one_of, word

PRICE_MODES = ("on-demand", "spot", "reserved")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits that the run must keep."""

    PATH: ClassVar[str] = "budget"

    usd: float | None = key(amount(USD), "most money to spend, such as 48.3k")
    days: float | None = key(amount(DAYS), "deadline in days, or as 12h")
    kwh: float | None = key(amount(KWH), "most energy to use, in kWh")

    def __post_init__(self) -> None:
        read_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Whose price applies."""

    PATH: ClassVar[str] = "price"

    provider: str | None = key(word, "cloud provider whose price applies", metavar="NAME")
    region: str | None = key(word, "region of the provider", metavar="NAME")
    mode: str = key(
        one_of(PRICE_MODES), " | ".join(PRICE_MODES), default="on-demand", metavar="WORD"
    )

    def __post_init__(self) -> None:
        read_fields(self)
