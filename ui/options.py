"""What the select boxes offer and how they say it: accelerators, networks, regions."""

from __future__ import annotations

import re
from functools import lru_cache

import hardware_db
from planner.quantities import show_bytes, show_rate, show_usd
from ui.text import Words

_MACHINE = re.compile(r"\b(\d[\d,]*) x ([a-z][\w.-]*)")


@lru_cache(maxsize=1024)  # what people type is not bounded
def accelerator_label(sku: str) -> str:
    """An accelerator as the list shows it: name, memory, price; searchable by all three."""
    part = _part(sku)
    if part is None:
        return sku
    price = hardware_db.price_for(part.sku_id)
    known = [part.name]
    if part.nameplate_gb and f"{part.nameplate_gb:g}GB" not in part.name:
        known.append(f"{part.nameplate_gb:g} GB")
    if price:
        known.append(f"{show_usd(price.usd_per_device_hour)}/h")
    return " · ".join(known)


def accelerator_line(sku: str, words: Words) -> str | None:
    """What the chosen accelerator has, for the line under the field; None for an unknown name."""
    part = _part(sku)
    if part is None:
        return None
    price = hardware_db.price_for(part.sku_id)
    hourly = words("side.no_price")
    if price:
        hourly = words("side.machine_price", price=show_usd(price.usd_per_device_hour))
    return words(
        "side.machine",
        memory=show_bytes(part.usable_bytes),
        bandwidth=show_rate(part.memory_bandwidth, "B"),
        price=hourly,
    )


@lru_cache(maxsize=1024)  # what people type is not bounded
def accelerator_name(sku: str) -> str:
    """The name of an accelerator, or what was typed."""
    part = _part(sku)
    return part.name if part else sku


def machines_named(text: str) -> str:
    """The planner's words with machines as people call them.

    >>> machines_named("27 days on 64 x h100-sxm5-80gb")
    '27 days on 64 × H100 SXM5 80GB'
    """
    return _MACHINE.sub(lambda found: f"{found[1]} × {accelerator_name(found[2])}", text)


@lru_cache(maxsize=1024)  # what people type is not bounded
def networks_of(sku: str) -> dict[str, str]:
    """Networks that machines with this accelerator have: name for the planner to label."""
    part = _part(sku)
    if part is None:
        return {}
    found = {}
    for net in hardware_db.networks():
        rate = net.device_bytes_per_second
        if net.kind == "scale-out" and part.sku_id in net.sku_ids and rate:
            found[net.instance_type] = f"{net.instance_type} · {rate * 8 / 1e9:g} Gbit/s"
    return found


@lru_cache(maxsize=1024)  # what people type is not bounded
def regions_of(sku: str, provider: str) -> tuple[str, ...]:
    """Regions in which a price of this accelerator is known."""
    part = _part(sku)
    if part is None:
        return ()
    regions = {
        price.region
        for price in hardware_db.prices(part.sku_id)
        if provider in ("", price.provider)
    }
    return tuple(sorted(regions - {"any"}))


@lru_cache(maxsize=1024)  # what people type is not bounded
def _part(sku: str) -> hardware_db.Accelerator | None:
    try:
        return hardware_db.accelerator(sku)
    except hardware_db.HardwareError:
        return None
