"""`forerun hardware list|show`: the accelerators, and everything known about one of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import hardware_db
from hardware_db import Accelerator, Price
from planner.cli.accelerator_tables import (
    figures,
    formats,
    line,
    networks_of,
    print_networks,
    print_prices,
)
from planner.cli.output import print_json, print_table
from planner.errors import PlannerError, nearest
from planner.quantities import BYTES, read

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
    print_table(None, columns, [line(part, number_format) for part in chosen])
    print(
        f"\n{len(chosen)} accelerators; ~ figure undocumented or derived; $/h on demand of the "
        "machine that holds one:\na plan takes the price of the machine that holds its count"
    )
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
    print_table(heading, ["figure", "value", "rests on"], figures(part))
    print()
    columns = ["format", "in hardware", "dense peak", "best measured", "rests on"]
    print_table("Matrix products, FP32 accumulation", columns, formats(part))
    print_prices(part)
    print_networks(part)
    print(f"\nsources ({part.confidence}): {part.source}")
    if part.note:
        print(f"note: {part.note}")
    return 0


def _everything(part: Accelerator, note: str) -> dict[str, Any]:
    return {
        "accelerator": part,
        "assumed": note or None,
        "supports": {each: part.supports(each) for each in hardware_db.FORMATS},
        "prices": [_price_json(price) for price in hardware_db.prices(part.sku_id)],
        "price": _price_json(hardware_db.price_for(part.sku_id)),
        "networks": networks_of(part),
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
