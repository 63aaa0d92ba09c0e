"""`forerun hardware list|show`: the accelerators, and everything known about one of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import hardware_db
from hardware_db import Accelerator, Network, Price
from planner.cli.output import print_json, print_table
from planner.errors import PlannerError, nearest
from planner.quantities import (
    BYTES,
    read,
    show_bytes,
    show_flops,
    show_percent,
    show_rate,
    show_usd,
)

HELP = "accelerators and prices"

_SORTS = ("name", "memory", "bandwidth", "peak", "price", "power", "year")


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|show")
    listing = actions.add_parser("list", help="the accelerators that the tables know")
    listing.add_argument("--vendor", help="only this maker: nvidia, amd, google, ...")
    listing.add_argument(
        "--format",
        default=None,
        metavar="FORMAT",
        help=f"only those with the format in hardware: {' '.join(hardware_db.FORMATS)}",
    )
    listing.add_argument("--min-memory", metavar="SIZE", help="only those with as much: 80GB")
    listing.add_argument(
        "--sort",
        choices=_SORTS,
        help="largest first; price and power smallest first (default: by maker and generation)",
    )
    showing = actions.add_parser("show", help="every figure of one accelerator and its source")
    showing.add_argument("name", metavar="NAME", help="id, product, driver or catalogue name")


def run(args: argparse.Namespace) -> int:
    return _list(args) if args.action == "list" else _show(args)


def _list(args: argparse.Namespace) -> int:
    number_format = args.format or "bf16"
    chosen = _filtered(args)
    if args.sort:
        chosen = _sorted(chosen, args.sort, number_format)
    if args.json:
        print_json({"accelerators": [_summary(part) for part in chosen]})
        return 0
    if not chosen:
        print("no accelerator in the tables meets all of that")
        return 0
    columns = ["id", "memory", "usable", "bandwidth", number_format, "power", "year", "$/h", "at"]
    print_table(None, columns, [_line(part, number_format) for part in chosen])
    print(f"\n{len(chosen)} accelerators; ~ figure from memory or derived; $/h on demand")
    return 0


def _filtered(args: argparse.Namespace) -> list[Accelerator]:
    chosen = list(hardware_db.accelerators())
    if args.vendor is not None:
        vendor = args.vendor.strip().lower()
        vendors = list(dict.fromkeys(part.vendor for part in chosen))
        if vendor not in vendors:
            near = nearest(vendor, vendors, count=1)
            guess = f"did you mean {near[0]}? " if near else ""
            raise PlannerError("--vendor", args.vendor, f"{guess}known are {', '.join(vendors)}")
        chosen = [part for part in chosen if part.vendor == vendor]
    if args.format is not None:
        if args.format not in hardware_db.FORMATS:
            known = ", ".join(hardware_db.FORMATS)
            raise PlannerError("--format", args.format, f"known are {known}")
        chosen = [part for part in chosen if part.supports(args.format) == "native"]
    if args.min_memory is not None:
        least = read(BYTES, "--min-memory", args.min_memory)
        chosen = [part for part in chosen if (part.memory_bytes or 0.0) >= least]
    return chosen


def _sorted(chosen: list[Accelerator], by: str, number_format: str) -> list[Accelerator]:
    """Unknown values last, whichever way the others go."""
    keys: dict[str, Callable[[Accelerator], float | str | None]] = {
        "name": lambda part: part.sku_id,
        "memory": lambda part: _negative(part.memory_bytes),
        "bandwidth": lambda part: _negative(part.memory_bandwidth),
        "peak": lambda part: _negative(part.peak(number_format)),
        "price": lambda part: _usd(hardware_db.price_for(part.sku_id)),
        "power": lambda part: part.tdp_watts,
        "year": lambda part: -part.year,
    }
    valued = [(keys[by](part), part) for part in chosen]
    known = [(value, part) for value, part in valued if value is not None]
    unknown = [part for value, part in valued if value is None]
    return [part for _, part in sorted(known, key=lambda pair: pair[0])] + unknown


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def _usd(price: Price | None) -> float | None:
    return price.usd_per_device_hour if price else None


def _line(part: Accelerator, number_format: str) -> Sequence[object]:
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


def _summary(part: Accelerator) -> dict[str, Any]:
    return {
        "sku_id": part.sku_id,
        "name": part.name,
        "vendor": part.vendor,
        "architecture": part.architecture,
        "year": part.year,
        "form_factor": part.form_factor,
        "memory_bytes": part.memory_bytes,
        "usable_bytes": part.usable_bytes,
        "memory_bandwidth_bytes_per_second": part.memory_bandwidth,
        "peak_flops": dict(part.peak_flops),
        "tdp_watts": part.tdp_watts,
        "memory_fields": list(part.memory_fields),
        "price": _price_json(hardware_db.price_for(part.sku_id)),
    }


def _show(args: argparse.Namespace) -> int:
    match = hardware_db.resolve(args.name)
    part = hardware_db.accelerator(match.sku_id)
    if args.json:
        print_json(_everything(part, match.note))
        return 0
    heading = f"{part.sku_id}: {part.name} ({part.vendor}, {part.architecture}, {part.year})"
    if match.note:
        heading += f"\n  {args.name} taken as {part.sku_id}: {match.note}"
    print_table(heading, ["figure", "value", "rests on"], _figures(part))
    print()
    columns = ["format", "in hardware", "dense peak", "best measured", "rests on"]
    print_table("Matrix products, FP32 accumulation", columns, _formats(part))
    _print_prices(part)
    _print_networks(part)
    print(f"\nsources ({part.confidence}): {part.source}")
    if part.note:
        print(f"note: {part.note}")
    return 0


def _figures(part: Accelerator) -> list[list[object]]:
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
    return [list(row) for row in rows]


def _known_bytes(value: float | None) -> str | None:
    return None if value is None else show_bytes(value)


def _known_rate(value: float | None) -> str | None:
    return None if value is None else show_rate(value, "B")


def _basis(part: Accelerator, field: str) -> str:
    return "memory or derived" if part.from_memory(field) else "sources below"


def _formats(part: Accelerator) -> list[list[object]]:
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


def _print_prices(part: Accelerator) -> None:
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


def _print_networks(part: Accelerator) -> None:
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
        for network in _networks(part)
    ]
    columns = ["provider", "machine", "size", "fabric", "each, one way", "confidence"]
    print()
    print_table("Between nodes", columns, rows)
    print(f"usual: {usual.provider} {usual.instance_type}")


def _networks(part: Accelerator) -> list[Network]:
    return [net for net in hardware_db.networks() if part.sku_id in net.sku_ids]


def _gbit(network: Network) -> str | None:
    rate = network.device_bytes_per_second
    return None if rate is None else f"{rate * 8 / 1e9:g} Gbit/s"


def _everything(part: Accelerator, note: str) -> dict[str, Any]:
    return {
        "accelerator": part,
        "assumed": note or None,
        "supports": {each: part.supports(each) for each in hardware_db.FORMATS},
        "prices": [_price_json(price) for price in hardware_db.prices(part.sku_id)],
        "price": _price_json(hardware_db.price_for(part.sku_id)),
        "networks": _networks(part),
        "usual_network": hardware_db.network_for(part.sku_id),
        "purchase_price": hardware_db.purchase_price(part.sku_id),
    }


def _price_json(price: Price | None) -> dict[str, Any] | None:
    if price is None:
        return None
    return {
        "usd_per_device_hour": price.usd_per_device_hour,
        "mode": price.mode,
        "provider": price.provider,
        "instance_type": price.instance_type,
        "devices": price.devices,
        "region": price.region,
        "price_date": price.as_of,
        "price_date_exact": price.as_of_exact,
        "includes_host": price.includes_host,
        "confidence": price.confidence,
        "source": price.source,
    }
