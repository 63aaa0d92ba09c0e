"""Prices that cannot be: below what the class was ever rented for, spot above list, wrong count."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from hardware_db._accelerator import Accelerator
from hardware_db._catalogue import accelerator
from hardware_db._networks import networks
from hardware_db._prices import Price, prices
from hardware_db._tables import TERA
from hardware_db.errors import HardwareError

# A listing is doubted at a fifth of the cheapest, or five times the dearest, price on record for
# the accelerator. The records span 1.0 to 27 dollars for current parts and a tenfold between
# a marketplace and a hyperscaler; a bid floor or a slipped decimal lies a decade outside.
_DOUBT = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceFlag:
    """What is wrong with a listing, and whether to reject it or only to point it out."""

    kind: str  # not-a-price | below-floor | above-ceiling | spot-above-on-demand | wrong-count
    reject: bool
    message: str


def check_price(
    sku: str,
    *,
    usd_per_device_hour: float | None = None,
    spot_usd_per_device_hour: float | None = None,
    instance_type: str | None = None,
    devices: int | None = None,
) -> tuple[PriceFlag, ...]:
    """What is doubtful about a listing; empty when nothing is.

    >>> [flag.kind for flag in check_price("b200-sxm6-180gb", usd_per_device_hour=0.01)]
    ['below-floor']
    """
    part = accelerator(sku)
    stated = {"on-demand": usd_per_device_hour, "spot": spot_usd_per_device_hour}
    flags = [flag for mode, usd in stated.items() for flag in _range_flags(part, mode, usd)]
    flags += _spot_flags(usd_per_device_hour, spot_usd_per_device_hour)
    flags += _count_flags(instance_type, devices)
    return tuple(flags)


def price_limits(sku: str) -> tuple[float, float]:
    """Floor and ceiling in US dollars per accelerator and hour between which a listing is believed.

    From the accelerator's own records; without any, from the price per peak FLOP/s of all others.
    """
    part = accelerator(sku)
    own = [price.usd_per_device_hour for price in prices(part.sku_id) if price.includes_host]
    if own:
        return min(own) / _DOUBT, max(own) * _DOUBT
    rate = _rate(part)
    if rate is None:
        return 0.0, math.inf
    cheapest, dearest = _usd_per_rate()
    return cheapest * rate / _DOUBT, dearest * rate * _DOUBT


def known_device_count(instance_type: str) -> int | None:
    """Accelerators in a machine type that the tables know, whatever its prefix and case."""
    return _device_counts().get(_instance_key(instance_type))


def _range_flags(part: Accelerator, mode: str, usd: float | None) -> Iterator[PriceFlag]:
    if usd is None:
        return
    if not math.isfinite(usd) or usd <= 0:
        message = f"{mode} price {usd} is no price"
        yield PriceFlag(kind="not-a-price", reject=True, message=message)
        return
    floor, ceiling = price_limits(part.sku_id)
    if usd < floor:
        message = f"{mode} {usd:g} USD/h is below {floor:.2g}, the floor for {part.sku_id}"
        yield PriceFlag(kind="below-floor", reject=True, message=message)
    if usd > ceiling:
        message = f"{mode} {usd:g} USD/h is above {ceiling:.2g}, the ceiling for {part.sku_id}"
        yield PriceFlag(kind="above-ceiling", reject=True, message=message)


def _spot_flags(on_demand: float | None, spot: float | None) -> list[PriceFlag]:
    if on_demand is None or spot is None or not spot > on_demand > 0:
        return []
    message = f"spot {spot:g} USD/h is dearer than on-demand {on_demand:g}"
    return [PriceFlag(kind="spot-above-on-demand", reject=False, message=message)]


def _count_flags(instance_type: str | None, devices: int | None) -> list[PriceFlag]:
    if devices is None:
        return []
    if devices < 1:
        raise HardwareError("devices", devices, "a machine has at least one accelerator")
    known = None if instance_type is None else known_device_count(instance_type)
    if known is None or known == devices:
        return []
    ratio = max(devices, known) / min(devices, known)
    message = (
        f"{instance_type} has {known} accelerators, not {devices}: "
        f"the price of one is wrong by {ratio:g}x"
    )
    return [PriceFlag(kind="wrong-count", reject=False, message=message)]


def _rate(part: Accelerator) -> float | None:
    rates = (part.peak(format) for format in ("bf16", "fp16", "fp32"))
    return next((rate for rate in rates if rate is not None), None)


@cache
def _usd_per_rate() -> tuple[float, float]:
    """Cheapest and dearest US dollars per hour and FLOP/s of peak on record."""
    ratios = [price.usd_per_device_hour / rate for price, rate in _priced() if rate > TERA]
    return min(ratios), max(ratios)


def _priced() -> Iterator[tuple[Price, float]]:
    for price in prices():
        rate = _rate(accelerator(price.sku_id))
        if price.includes_host and rate is not None:
            yield price, rate


def _instance_key(instance_type: str) -> str:
    return instance_type.strip().lower().removeprefix("standard_")


@cache
def _device_counts() -> dict[str, int]:
    counts = {_instance_key(price.instance_type): price.devices for price in prices()}
    for network in networks():
        if network.kind == "scale-out" and network.devices_per_node:
            counts[_instance_key(network.instance_type)] = network.devices_per_node
    return counts
