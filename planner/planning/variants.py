"""A run with something changed, planned: what advice and the search for a fit compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.errors import PlannerError
from planner.planning.outline import Outline, outline
from planner.planning.scenario import Scenario, scenario
from planner.run.flags import flags_of

if TYPE_CHECKING:
    from planner.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Changes to a run, by dotted key, and how a person says them."""

    kind: str  # settings | optimizer | offload | devices | accelerator | task | price
    words: str
    changes: Mapping[str, object]


def together(chosen: Sequence[Variant]) -> Variant:
    """Several changes as one; its kind is that of the last.

    >>> a = Variant(kind="settings", words="recompute full", changes={"training.recompute": "full"})
    >>> b = Variant(kind="devices", words="8 x t4", changes={"hardware.count": 8})
    >>> together([a, b]).words
    'recompute full and 8 x t4'
    """
    *before, last = [each.words for each in chosen]
    changes = {name: value for each in chosen for name, value in each.changes.items()}
    words = f"{', '.join(before)} and {last}" if before else last
    return Variant(kind=chosen[-1].kind, words=words, changes=changes)


def elsewhere(run: Run, sku_id: str) -> dict[str, object]:
    """The changes that put a run on another accelerator, of which no profile of it speaks."""
    changes: dict[str, object] = {"hardware.sku": sku_id, "hardware.power_limit": None}
    return changes if run.hardware.profile is None else {**changes, "hardware.profile": None}


def tried(each: Scenario, variant: Variant) -> Outline | None:
    """The outline of the changed run, None where it cannot run at all."""
    try:
        changed = each.run.changed(variant.changes)
        return outline(scenario(changed, model=each.model))
    except PlannerError:
        return None


def row_of(each: Scenario, variant: Variant, outline: Outline) -> dict[str, Any]:
    """A change of `each` that fits, with what it leads to and the flags that make it."""
    return {
        "change": variant.words,
        "kind": variant.kind,
        "changes": dict(variant.changes),
        "flags": flags_of(each.run, variant.changes),
        "fit_probability": outline.fit_probability,
        "peak_bytes": outline.peak_bytes,
        "capacity_bytes": outline.capacity_bytes,
        "seconds": outline.step.seconds,
        "run_seconds": outline.run.seconds,
        "usd": outline.cost.usd,
    }
