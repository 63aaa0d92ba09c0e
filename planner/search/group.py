"""Candidates that share one machine and one recipe, and what an hour of them costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine import choices
from planner.engine.batch import Batch
from planner.engine.configuration import Configuration
from planner.errors import PlannerError
from planner.planning.candidates import SEQUENCE_PARALLEL_YEAR, build, single
from planner.planning.intervals import Spread, memory_spread
from planner.planning.memory_doubts import memory_doubts
from planner.planning.money import cost_of, energy_of
from planner.planning.phases import checkpoint_bytes, host_bytes
from planner.planning.result import RunPart
from planner.planning.scenario import Scenario
from planner.run import Run
from planner.search.batches import Lengthened
from planner.search.clock import Clock, clock_of
from planner.search.table import Table

Array = np.ndarray[Any, np.dtype[Any]]

PLAIN = {"tp": 1, "pp": 1, "cp": 1, "ep": 1, "interleave": 1, "micro_batch": 1, "accumulation": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One way to pay for the machine."""

    mode: str  # on-demand | spot
    usd_per_second: float | None  # of all devices; None where no price is known
    reason: str | None  # why there is none


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class PoolKey:
    """A machine and the number format that it computes in."""

    sku: str
    count: int
    power_limit: float | None  # W; None = the board's own
    precision: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """One machine, one recipe, and every layout and batch on it."""

    scenario: Scenario
    words: Mapping[str, str]  # precision, compile, attention, loss
    template: Batch  # of one
    table: Table
    clock: Clock
    offers: tuple[Offer, ...]
    kwh_per_second: float | None  # of all devices
    memory: Spread
    said: Run  # what the user says
    changes: Mapping[str, object]  # of it, that make this group
    longer: Lengthened  # by global batch

    @property
    def key(self) -> tuple[str, ...]:
        """Groups of one key differ in their machines alone and can be evaluated together."""
        return (self.scenario.stack.name, *self.words.values())

    @property
    def pool(self) -> PoolKey:
        """Groups of one pool cost the same an hour and compute in the same format."""
        hardware = self.scenario.run.hardware
        return PoolKey(
            sku=self.scenario.accelerator.sku_id,
            count=self.scenario.num_devices,
            power_limit=hardware.power_limit,
            precision=self.words["precision"],
        )

    @property
    def surety(self) -> float:
        """Share of the capacity up to which a predicted peak fits with 90 % probability."""
        return 1 / self.memory.bounds(1.0)[1]

    @property
    def label(self) -> str:
        return f"{self.scenario.num_devices} x {self.scenario.accelerator.sku_id}"

    def columns(self, start: int, stop: int) -> dict[str, Array]:
        """The layout arrays of the candidates from `start` up to `stop`."""
        found = self.table.arrays(start, stop)
        del found["global_batch"]  # the engine multiplies it from its parts
        found["sequence_parallel"] = (found["tp"] > 1) * float(self._sequence_parallel)
        return found

    @property
    def _sequence_parallel(self) -> bool:
        layout, software = self.scenario.run.training.layout, self.scenario.stack
        if layout is not None and layout.sequence_parallel is not None:
            return layout.sequence_parallel
        return software.sequence_parallel or software.year >= SEQUENCE_PARALLEL_YEAR

    def values(self, index: int) -> dict[str, int]:
        """One candidate's degrees, batches and codes."""
        found = self.table.at(np.array([index]))
        return {name: int(column[0]) for name, column in found.items()}

    def run(self, index: int, mode: str) -> Run:
        """One candidate as a run with nothing left open."""
        return self.run_of(self.values(index), mode)

    def run_of(self, values: Mapping[str, int], mode: str) -> Run:
        """The same from its degrees, batches and codes."""
        layout: dict[str, object] = {
            name: values[name] for name in ("tp", "pp", "cp", "ep", "dp", "interleave")
        }
        layout["sharding"] = choices.SHARDINGS[values["sharding"]]
        if values["tp"] > 1:
            layout["sequence_parallel"] = self._sequence_parallel
        return self.longer.run(self.said, self.changes, values["global_batch"]).changed(
            {
                "training.layout": layout,
                "training.micro_batch": values["micro_batch"],
                "training.accumulation": values["accumulation"],
                "training.recompute": choices.RECOMPUTES[values["recompute"]],
                "training.stack": self.scenario.stack.name,
                "price.mode": mode,
            }
        )


def template_of(each: Scenario) -> Batch:
    """A batch of one whose layout every candidate replaces."""
    return single(plain_configuration(each), each)


def plain_configuration(each: Scenario) -> Configuration:
    """Plain data parallelism: a stand-in where the layout does not matter."""
    loss = choices.code(choices.LOSSES, each.run.training.loss or each.stack.loss)
    chosen = {"dp": each.num_devices, "sharding": 0, "sequence_parallel": 0, "loss": loss}
    return build(each, PLAIN | chosen)


def group(
    each: Scenario,
    *,
    template: Batch,
    table: Table,
    words: Mapping[str, str],
    said: Run,
    changes: Mapping[str, object],
    longer: Lengthened,
    modes: tuple[str, ...],
) -> Group:
    """Put a group together. Raises PlannerError where the host lacks memory for offload."""
    _check_host(each, template)
    energy = energy_of(each, _second())
    return Group(
        scenario=each,
        words=words,
        template=template,
        table=table,
        clock=clock_of(each, checkpoint_bytes(template), longer.steps),
        offers=tuple(_offer(each, mode) for mode in modes),
        kwh_per_second=energy.kwh,
        memory=memory_spread(memory_doubts(plain_configuration(each), each.stack)),
        said=said,
        changes=changes,
        longer=longer,
    )


def _offer(each: Scenario, mode: str) -> Offer:
    from dataclasses import replace

    priced = replace(each, run=each.run.changed({"price.mode": mode}))
    cost = cost_of(priced, _second())
    return Offer(mode=mode, usd_per_second=cost.usd, reason=cost.reason)


def _second() -> RunPart:
    """A run of one second: what it costs scales with time."""
    return RunPart(
        steps=1,
        tokens=1,
        samples=1,
        epochs=None,
        seconds=1.0,
        low=1.0,
        high=1.0,
        parts={},
        device_hours=0.0,
        goodput=1.0,
        finish_by_deadline=None,
        deadline_seconds=None,
    )


def _check_host(each: Scenario, template: Batch) -> None:
    given = each.run.hardware.host_memory
    needed = host_bytes(template, plain_configuration(each))
    if given is not None and needed is not None and needed > given:
        remedy = f"offload needs {needed / 1e9:.0f} GB of host memory a node"
        raise PlannerError("hardware.host_memory", given, remedy)
