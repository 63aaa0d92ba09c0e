"""The tables of `forerun hardware`: an accelerator as a line, and its figures, prices, networks."""

from __future__ import annotations

from collections.abc import Sequence

import hardware_db
from hardware_db import Accelerator, Network
from planner.cli.output import print_table
from planner.quantities import show_bytes, show_flops, show_percent, show_rate, show_usd


def line(part: Accelerator, number_format: str) -> Sequence[object]:
    """An accelerator in the list; `~` marks what rests on memory or derivation."""
    price = hardware_db.price_for(part.sku_id)
    return [
        part.sku_id,
        _marked(part, "nameplate_gb", _gigabytes(part.nameplate_gb)),
        show_bytes(part.usable_bytes) if part.usable_bytes else None,
        _marked(part, "memory_bandwidth", show_rate(part.memory_bandwidth, "B")),
        _marked(part, number_format, _flops(part.peak(number_format))),
        _marked(part, "tdp_watts", _watts(part.tdp_watts)),
        str(part.year),
        show_usd(price.usd_per_device_hour) if price else None,
        f"{price.provider} {price.as_of[:7]}" if price else None,
    ]


def _marked(part: Accelerator, field: str, shown: str | None) -> str | None:
    return f"~{shown}" if shown and part.from_memory(field) else shown


def _gigabytes(value: float | None) -> str | None:
    return None if value is None else f"{value:g} GB"


def _flops(value: float | None) -> str | None:
    return None if value is None else show_flops(value, per_second=True)


def _watts(value: float | None) -> str | None:
    return None if value is None else f"{value:g} W"


def figures(part: Accelerator) -> list[list[object]]:
    """Figure, value, what it rests on."""
    link = part.link
    domain = f" in a domain of {link.domain_size}" if link and link.domain_size > 1 else ""
    buying = hardware_db.purchase_price(part.sku_id)
    rows: list[tuple[str, str | None, str]] = [
        ("memory as sold", _gigabytes(part.nameplate_gb), _basis(part, "nameplate_gb")),
        ("memory usable", _known_bytes(part.usable_bytes), part.usable_source),
        ("memory bandwidth", _known_rate(part.memory_bandwidth), _basis(part, "memory_bandwidth")),
        (
            f"{link.name}, one way" if link else "link",
            show_rate(link.bytes_per_second, "B") + domain if link else None,
            _basis(part, "link") if link else "",
        ),
        (
            f"host ({part.host_link_name}), one way" if part.host_link_name else "host link",
            _known_rate(part.host_bytes_per_second),
            "",
        ),
        ("power", _watts(part.tdp_watts), _basis(part, "tdp_watts")),
        ("devices software sees", str(part.logical_devices), ""),
        (
            "to buy",
            show_usd(buying.usd_per_device) if buying else None,
            f"{buying.scope}, {buying.as_of}, {buying.confidence}" if buying else "",
        ),
    ]
    return [[name, value, basis if value is not None else ""] for name, value, basis in rows]


def _known_bytes(value: float | None) -> str | None:
    return None if value is None else show_bytes(value)


def _known_rate(value: float | None) -> str | None:
    return None if value is None else show_rate(value, "B")


def _basis(part: Accelerator, field: str) -> str:
    return "undocumented or derived" if part.from_memory(field) else "sources below"


def formats(part: Accelerator) -> list[list[object]]:
    """Format, support, peak, best measured share of it, what the peak rests on."""
    rows: list[list[object]] = []
    for number_format in hardware_db.FORMATS:
        measured = part.achievable.get(number_format)
        peak = part.peak(number_format)
        rows.append(
            [
                number_format,
                part.supports(number_format),
                _flops(peak),
                f"{show_percent(measured.fraction)}, {measured.method}" if measured else None,
                _basis(part, number_format) if peak is not None else "",
            ]
        )
    return rows


def print_prices(part: Accelerator) -> None:
    """Every rental price with its date, cheapest first within on-demand and spot."""
    prices = hardware_db.prices(part.sku_id)
    if not prices:
        print("\nno rental price is known")
        return
    rows = [
        [
            price.provider,
            price.instance_type,
            str(price.devices),
            price.region,
            price.mode,
            show_usd(price.usd_per_device_hour),
            price.as_of if price.as_of_exact else f"by {price.as_of}",
            price.confidence if price.includes_host else f"{price.confidence}, host apart",
        ]
        for price in sorted(prices, key=lambda price: (price.mode, price.usd_per_device_hour))
    ]
    columns = ["provider", "machine", "size", "region", "mode", "$/h each", "date", "confidence"]
    print()
    print_table("Rental, per accelerator and hour", columns, rows)


def print_networks(part: Accelerator) -> None:
    """The networks of the machines that hold this accelerator, and the usual one."""
    usual = hardware_db.network_for(part.sku_id)
    if usual is None:
        print("\nno network between nodes is known")
        return
    rows = [
        [
            network.provider,
            network.instance_type,
            str(network.devices_per_node) if network.devices_per_node else None,
            network.fabric,
            _gbit(network),
            network.confidence,
        ]
        for network in networks_of(part)
    ]
    columns = ["provider", "machine", "size", "fabric", "each, one way", "confidence"]
    print()
    print_table("Between nodes", columns, rows)
    print(f"usual: {usual.provider} {usual.instance_type}")


def networks_of(part: Accelerator) -> list[Network]:
    """The rows of the network table for this accelerator."""
    return [net for net in hardware_db.networks() if part.sku_id in net.sku_ids]


def _gbit(network: Network) -> str | None:
    rate = network.device_bytes_per_second
    return None if rate is None else f"{rate * 8 / 1e9:g} Gbit/s"
