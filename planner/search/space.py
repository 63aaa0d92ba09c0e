"""The whole space of a search: its groups, and what was left out of it and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.errors import PlannerError
from planner.planning.options import usual_global_batch
from planner.planning.scenario import Scenario
from planner.run import Run
from planner.search.batches import Lengthened, batches_of
from planner.search.builder import Builder, Excluded, Tables
from planner.search.group import Group
from planner.search.machines import Machines
from planner.search.restrictions import Restrictions

if TYPE_CHECKING:
    from planner.engine.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Groups of candidates to search. `base` is the run's own machine and batch."""

    run: Run
    base: Scenario
    groups: tuple[Group, ...]
    excluded: tuple[Excluded, ...]
    warnings: tuple[str, ...]
    lengthened: Lengthened

    @property
    def size(self) -> int:
        """Valid candidates."""
        return sum(each.table.size for each in self.groups)


def space(
    run: Run,
    limits: Restrictions,
    *,
    model: Model | None = None,
    skus: Sequence[str] | None = None,
    counts: Sequence[int] | None = None,
    words: str = "usual",
) -> Space:
    """Every valid candidate of a run. Raises PlannerError where nothing is left.

    `skus` and `counts` are the machines to try where the restrictions do not say; `words` "usual"
    tries the usual precisions, losses and compilations, "run" keeps the run's own.
    """
    refuse_profile(run)
    machines = Machines(run=run, limits=limits, skus=skus, counts=counts)
    base = machines.base(model)
    longer = batches_of(base, global_batch(base), limits)
    found: list[Group] = []
    excluded: list[Excluded] = []
    tables: Tables = {}
    for sku, count, power in machines.each():
        builder = Builder(
            run=run, base=base, limits=limits, longer=longer, words=words, tables=tables
        )
        for item in builder.groups(sku, count, power):
            if isinstance(item, Group):
                found.append(item)
            else:
                excluded.append(item)
    if not found:
        raise _empty(excluded)
    return Space(
        run=run,
        base=base,
        groups=tuple(found),
        excluded=tuple(excluded),
        warnings=longer.warnings,
        lengthened=longer,
    )


def refuse_profile(run: Run) -> None:
    """Candidates are ranked by published data: a profile would answer for the best alone."""
    if run.hardware.profile is not None:
        remedy = (
            "search and compare rank by published data: leave it out here; forerun plan answers "
            "from a profile"
        )
        raise PlannerError("hardware.profile", run.hardware.profile, remedy)


def global_batch(base: Scenario) -> int:
    """Sequences per step that the run states, implies, or usually takes."""
    training = base.run.training
    if training.global_batch:
        return training.global_batch
    if training.micro_batch and training.accumulation:
        layout, count = training.layout, base.num_devices
        dp = layout.data_degree(count) if layout else count
        return training.micro_batch * training.accumulation * dp
    return usual_global_batch(base)


def _empty(excluded: Sequence[Excluded]) -> PlannerError:
    reasons = list(dict.fromkeys(each.reason for each in excluded))
    first = excluded[0]
    more = f" (and {len(reasons) - 1} other reasons)" if len(reasons) > 1 else ""
    value = f"{first.count} x {first.sku}"
    return PlannerError("search", value, f"no candidate can run: {reasons[0]}{more}")
