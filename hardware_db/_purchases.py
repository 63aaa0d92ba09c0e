"""What an accelerator costs to buy: dated offers, with the share of a whole system said so."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hardware_db._catalogue import accelerator
from hardware_db._tables import flag, integer, rows


@dataclass(frozen=True, slots=True, kw_only=True)
class PurchasePrice:
    """A row of purchase_prices.csv, in US dollars per accelerator."""

    sku_id: str
    usd_per_device: float
    scope: str  # single unit | share of a system | street price | list price at launch
    units_in_system: int | None
    as_of: str  # ISO date, or its first part
    estimated: bool
    confidence: str
    source: str
    url: str
    note: str

    @property
    def from_memory(self) -> bool:
        """Whether the price rests on nobody's document."""
        return self.confidence == "memory"


def purchase_prices(sku: str | None = None) -> tuple[PurchasePrice, ...]:
    """The offers for an accelerator, oldest first; all of them without a name."""
    if sku is None:
        return _all()
    sku_id = accelerator(sku).sku_id
    return tuple(price for price in _all() if price.sku_id == sku_id)


def purchase_price(sku: str) -> PurchasePrice | None:
    """The newest offer; of several on that date the one in the middle (the lower of two).

    A launch price counts only where there is no offer. None where nothing is known.

    >>> purchase_price("a100-pcie-80gb").usd_per_device
    16338.77
    """
    found = purchase_prices(sku)
    offers = [price for price in found if not price.scope.startswith("list price")] or list(found)
    newest = max((price.as_of for price in offers), default=None)
    same = sorted(
        (price for price in offers if price.as_of == newest), key=lambda price: price.usd_per_device
    )
    return same[(len(same) - 1) // 2] if same else None


@cache
def _all() -> tuple[PurchasePrice, ...]:
    return tuple(
        PurchasePrice(
            sku_id=row["sku_id"],
            usd_per_device=float(row["usd_per_device"]),
            scope=row["scope"],
            units_in_system=integer(row["units_in_system"]),
            as_of=row["as_of"],
            estimated=bool(flag(row["estimated"])),
            confidence=row["confidence"],
            source=row["source"],
            url=row["url"],
            note=row["note"],
        )
        for row in rows("purchase_prices")
    )
