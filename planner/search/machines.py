"""The machines of a search: accelerators, their numbers and power limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from planner.errors import PlannerError
from planner.planning.scenario import Scenario, scenario
from planner.run import Run
from planner.run.missing import MissingKeyError
from planner.search.axes import Value
from planner.search.restrictions import KEEP, Restrictions

if TYPE_CHECKING:
    from planner.engine.model import Model

HALVINGS = 4  # numbers of accelerators tried: the run's, a half, a quarter, an eighth


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """Accelerators, their numbers and power limits."""

    run: Run
    limits: Restrictions
    skus: Sequence[str] | None
    counts: Sequence[int] | None

    def base(self, model: Model | None) -> Scenario:
        """The run on its own machine, or on the first that can run it."""
        hardware = self.run.hardware
        count = hardware.count or max(self._counts())
        names = [hardware.sku] if hardware.sku else self._skus()
        failure: PlannerError | None = None
        for sku in names:
            try:
                changes = {"hardware.sku": sku, "hardware.count": count}
                return scenario(self.run.changed(changes), model=model)
            except PlannerError as error:
                failure = failure or error
                if not error.field.startswith(("hardware", "training.precision")):
                    raise
        assert failure is not None
        raise failure

    def each(self) -> Iterator[tuple[str, int, float | None]]:
        for sku, count in product(self._skus(), self._counts()):
            for power in self._powers(sku):
                yield sku, count, power

    def _skus(self) -> list[str]:
        usual_skus = self.skus or ([self.run.hardware.sku] if self.run.hardware.sku else [])
        return [str(each) for each in _of(self.limits, "sku", list(usual_skus))]

    def _counts(self) -> list[int]:
        count = self.run.hardware.count
        halves = (
            [count >> power for power in range(HALVINGS) if count % (1 << power) == 0]
            if (count)
            else []
        )
        own = self.counts or halves
        return [int(each) for each in _of(self.limits, "count", list(own), keep=count)]

    def _powers(self, sku: str) -> list[float | None]:
        """Stated limits, on the run's own part only unless they are asked for."""
        own = self.run.hardware.power_limit
        if self.limits.says("power_limit"):
            chosen = self.limits.kept("power_limit", [] if own is None else [own])
            return [None if each == KEEP else float(each) for each in chosen]
        return [own if sku == self.run.hardware.sku else None]


def _of(
    limits: Restrictions, name: str, usual_values: list[Value], keep: Value | None = None
) -> list[Value]:
    if not usual_values and name not in limits.fixed and name not in limits.tried:
        raise MissingKeyError(f"hardware.{name}", f"say it, or what to try: --try {name}=..")
    if limits.fixed.get(name) == KEEP:
        usual_values = usual_values if keep is None else [keep]
    return limits.kept(name, usual_values)
