"""What an hour of an accelerator costs to rent: dated list prices, one region per provider."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hardware_db._catalogue import accelerator
from hardware_db._choice import known_word
from hardware_db._tables import Row, flag, integer, number, rows

MODES = ("on-demand", "spot")
_TIERS = ("major", "other", "marketplace")  # in the order in which we trust them as a default


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of one machine type at one provider, per accelerator and hour, in US dollars."""

    sku_id: str
    provider: str
    provider_name: str
    tier: str  # major | other | marketplace
    instance_type: str
    devices: int  # accelerators in the machine
    region: str  # `any` where the provider has one price
    mode: str  # on-demand | spot
    usd_per_device_hour: float
    usd_per_hour: float  # of the whole machine
    includes_host: bool  # False: the CPU machine is billed apart
    host_memory_gib: float | None
    as_of: str  # ISO date, or its first part
    as_of_exact: bool  # False: no later than as_of; the catalogue does not date itself
    confidence: str
    source: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Who rents accelerators out."""

    provider: str
    name: str
    kind: str  # hyperscaler | gpu-cloud | marketplace
    major: bool
    note: str

    @property
    def tier(self) -> str:
        """major | other | marketplace"""
        if self.major:
            return "major"
        return "marketplace" if self.kind == "marketplace" else "other"


@cache
def providers() -> tuple[Provider, ...]:
    """Every provider in the table."""
    return tuple(
        Provider(
            provider=row["provider"],
            name=row["name"],
            kind=row["kind"],
            major=bool(flag(row["major"])),
            note=row["note"],
        )
        for row in rows("providers")
    )


def prices(
    sku: str | None = None, provider: str | None = None, mode: str | None = None
) -> tuple[Price, ...]:
    """The prices of an accelerator, a provider or a mode; all of them without a filter."""
    sku_id = None if sku is None else accelerator(sku).sku_id
    name = None if provider is None else _provider(provider)
    wanted = None if mode is None else known_word("mode", mode, MODES)
    return tuple(
        price
        for price in (_all() if sku_id is None else _by_sku().get(sku_id, ()))
        if name in (None, price.provider) and wanted in (None, price.mode)
    )


@cache
def price_for(
    sku: str,
    provider: str | None = None,
    region: str | None = None,
    mode: str = "on-demand",
    *,
    devices: int = 1,
) -> Price | None:
    """The dated price to plan with, None where none is known.

    `devices` is how many accelerators one machine must hold: the smallest machine type with as
    many (else the largest) is taken, and of those the cheapest. Without a provider the cheapest
    major provider is taken, then other clouds, then marketplaces; the answer names it. A price of
    low confidence, or one that leaves out the host, is taken only when there is no other.

    >>> price_for("h100-sxm5-80gb", "aws", devices=8).usd_per_device_hour
    6.88
    """
    found = [
        price
        for price in prices(sku, provider, mode)
        if region is None or price.region.lower() in ("any", region.strip().lower())
    ]
    sized = [price for name in _names(found) for price in _sized(found, name, devices)]
    return min(sized, key=_preference, default=None)


def _preference(price: Price) -> tuple[bool, bool, int, float]:
    doubtful = price.confidence == "low"
    return not price.includes_host, doubtful, _TIERS.index(price.tier), price.usd_per_device_hour


def _names(found: list[Price]) -> list[str]:
    return list(dict.fromkeys(price.provider for price in found))


def _sized(found: list[Price], provider: str, devices: int) -> list[Price]:
    own = [price for price in found if price.provider == provider]
    enough = [price.devices for price in own if price.devices >= devices]
    size = min(enough) if enough else max(price.devices for price in own)
    return [price for price in own if price.devices == size]


def _provider(name: str) -> str:
    return known_word("provider", name, (known.provider for known in providers()))


@cache
def _all() -> tuple[Price, ...]:
    columns = {"on-demand": "on_demand_usd_per_hour", "spot": "spot_usd_per_hour"}
    return tuple(
        _price(row, mode, float(row[column]))
        for row in rows("prices")
        for mode, column in columns.items()
        if row[column]
    )


@cache
def _by_sku() -> dict[str, tuple[Price, ...]]:
    return {
        sku_id: tuple(price for price in _all() if price.sku_id == sku_id)
        for sku_id in dict.fromkeys(price.sku_id for price in _all())
    }


@cache
def _providers_by_id() -> dict[str, Provider]:
    return {provider.provider: provider for provider in providers()}


def _price(row: Row, mode: str, usd_per_hour: float) -> Price:
    provider = _providers_by_id()[row["provider"]]
    devices = integer(row["devices"])
    assert devices, row
    return Price(
        sku_id=row["sku_id"],
        provider=provider.provider,
        provider_name=provider.name,
        tier=provider.tier,
        instance_type=row["instance_type"],
        devices=devices,
        region=row["region"],
        mode=mode,
        usd_per_device_hour=usd_per_hour / devices,
        usd_per_hour=usd_per_hour,
        includes_host=bool(flag(row["includes_host"])),
        host_memory_gib=number(row["host_memory_gib"]),
        as_of=row["as_of"],
        as_of_exact=bool(flag(row["as_of_exact"])),
        confidence=row["confidence"],
        source=row["source"],
        note=row["note"],
    )
