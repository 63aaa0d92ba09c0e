"""From an answer of another page to the Plan page with that configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import streamlit as st

from ui import link, run_file, state

if TYPE_CHECKING:
    from planner.run import Run

PLAN = "ui/pages/plan.py"
_FOLLOWS = ("dp", "sequence_parallel")  # of a layout: what the planner works out from the rest
_FLAT = ("tp", "pp", "cp", "ep", "interleave", "sharding")
_TRAINING = (
    *("precision", "recompute", "attention", "loss", "compile", "stack"),
    *("micro_batch", "accumulation", "global_batch"),
)


def to_plan(changes: Mapping[str, object]) -> NoReturn:
    """Show the Plan page with the scenario changed, by dotted key of a run file.

    Not for a callback: it ends the run of the page. The address comes along, so that it can be
    shared at once and the browser's history leads back to the scenario before.
    """
    values = run_file.changed(state.values(), changes)
    state.take(values)
    st.switch_page(PLAN, query_params=link.written(values))


def changes_of_run(said: Run, wanted: Run) -> dict[str, object]:
    """What to change of the scenario's run `said` to have `wanted`, by dotted key.

    >>> from planner.run import Run
    >>> said = Run(model="gpt2-xl", hardware={"sku": "l4", "count": 8})
    >>> changes_of_run(said, said.changed({"hardware.count": 4, "training.layout": "tp=2"}))
    ... # doctest: +NORMALIZE_WHITESPACE
    {'hardware.count': 4, 'training.layout.tp': 2, 'training.layout.pp': 1,
     'training.layout.cp': 1, 'training.layout.ep': 1, 'training.layout.interleave': 1}
    """
    old, new = dict(_leaves(said.to_mapping())), dict(_leaves(wanted.to_mapping()))
    return {name: value for name, value in new.items() if old.get(name) != value}


def _leaves(mapping: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in mapping.items():
        dotted = f"{path}{name}"
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{dotted}.")
        elif dotted != "training.layout" and dotted.removeprefix("training.layout.") not in (
            _FOLLOWS
        ):
            yield dotted, value


def changes_of_row(row: Mapping[str, Any], own_sku: str | None) -> dict[str, object]:
    """The same from a row of `forerun search --json` or `forerun compare --json`.

    A row states its settings flat or in `chosen`. On another accelerator than the scenario's
    `own_sku` the machine is the usual one.

    >>> changes_of_row({"sku": "b200", "count": 8, "tp": 2, "sharding": "zero1"}, "l4")
    ... # doctest: +NORMALIZE_WHITESPACE
    {'hardware.sku': 'b200', 'hardware.count': 8, 'hardware.per_node': None,
     'hardware.interconnect': None, 'training.layout.tp': 2, 'training.layout.sharding': 'zero1'}
    """
    chosen = row.get("chosen") or row
    layout = chosen.get("layout") or chosen
    found: dict[str, object] = {"hardware.sku": row["sku"], "hardware.count": row["count"]}
    if row["sku"] != own_sku:
        found |= {"hardware.per_node": None, "hardware.interconnect": None}
    found |= {f"training.layout.{name}": layout[name] for name in _FLAT if name in layout}
    found |= {f"training.{name}": chosen[name] for name in _TRAINING if name in chosen}
    if row.get("price_mode"):
        found["price.mode"] = row["price_mode"]
    if chosen.get("power_limit"):
        found["hardware.power_limit"] = chosen["power_limit"]
    return found
