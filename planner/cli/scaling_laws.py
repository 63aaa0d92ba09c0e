"""`forerun scaling laws`: the published laws, with source, range and traps."""

from __future__ import annotations

import argparse
from typing import Any

from planner.cli.output import print_json, print_table
from planner.quantities import show_count
from planner.scaling.allocations import allocation_names, split
from planner.scaling.laws import law, law_names


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="everything about one law")


def run(args: argparse.Namespace) -> int:
    laws = [_loss_law(name) for name in law_names()] + [_split(n) for n in allocation_names()]
    if args.name is not None:
        known = {entry["name"]: entry for entry in laws}
        laws = [known[args.name] if args.name in known else _loss_law(law(args.name).name)]
    if args.json:
        print_json({"laws": laws})
        return 0
    if args.name is not None:
        facts = [[name, _text(value)] for name, value in laws[0].items()]
        print_table(None, ["what", "value"], facts)
        return 0
    columns = ["name", "gives", "counts", "params", "source"]
    rows = [[_range(entry) if key == "params" else entry[key] for key in columns] for entry in laws]
    print_table(None, columns, rows)
    return 0


def _loss_law(name: str) -> dict[str, Any]:
    known = law(name)
    return {
        "name": name,
        "title": known.title,
        "gives": "loss and allocation",
        "form": known.form,
        "constants": dict(known.constants),
        "conditions": list(known.conditions),
        "counts": known.counts,
        "ranges": {key: list(value) for key, value in known.ranges.items()},
        "data": known.data,
        "source": known.source,
        "read": known.read,
        "traps": list(known.traps),
    }


def _split(name: str) -> dict[str, Any]:
    known = split(name)
    return {
        "name": name,
        "title": known.title,
        "gives": "allocation only",
        "counts": known.counts,
        "ranges": {"flops": list(known.flops)},
        "data": known.data,
        "source": known.source,
        "read": known.read,
        "traps": list(known.traps),
    }


def _range(entry: dict[str, Any]) -> str:
    ranges = entry["ranges"]
    assert isinstance(ranges, dict)
    if "params" not in ranges:
        return "-"
    low, high = ranges["params"]
    return f"{show_count(low)} to {show_count(high)}"


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "; ".join(map(_text, value)) or "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
