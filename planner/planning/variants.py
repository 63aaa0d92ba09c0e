"""A run with something changed, planned: what advice and the search for a fit compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.errors import PlannerError
from planner.planning.outline import Outline, outline
from planner.planning.scenario import Scenario, scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Changes to a run, by dotted key, and how a person says them."""

    kind: str  # settings | optimizer | offload | devices | accelerator | task | price
    words: str
    changes: Mapping[str, object]

    def __and__(self, other: Variant) -> Variant:
        return Variant(
            kind=other.kind,
            words=f"{self.words} and {other.words}",
            changes={**self.changes, **other.changes},
        )


def tried(each: Scenario, variant: Variant) -> Outline | None:
    """The outline of the changed run, None where it cannot run at all."""
    try:
        changed = each.run.changed(variant.changes)
        return outline(scenario(changed, model=each.model))
    except PlannerError:
        return None
