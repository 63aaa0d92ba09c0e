"""The bones of a plan: the chosen candidate with its step, run, cost and energy.

Advice and the search for a plan that fits compare many of these; only one becomes a whole plan.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from planner.engine.batch import Batch, splits_data_alone
from planner.engine.configuration import Configuration
from planner.engine.constants import Constants, constants
from planner.planning.candidates import Candidates, candidates, single
from planner.planning.choose import Choice, as_computed, choose
from planner.planning.doubts import doubts_of, launch_doubt
from planner.planning.intervals import Spread, memory_spread, time_spread
from planner.planning.length import loader_seconds, run_part
from planner.planning.measured import MeasuredStep, measured_step
from planner.planning.memory_doubts import memory_doubts
from planner.planning.money import cost_of, energy_of
from planner.planning.phases import checkpoint_bytes, host_bytes
from planner.planning.result import CostPart, EnergyPart, RunPart, StepPart
from planner.planning.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """One run, chosen and evaluated. Memory in bytes on the fullest device."""

    scenario: Scenario
    pool: Candidates
    choice: Choice
    batch: Batch  # of one: the chosen candidate
    doubts: tuple[str, ...]  # of the time
    memory_spread: Spread
    peak_bytes: float
    capacity_bytes: float
    checkpoint_bytes: float
    host_bytes: float | None  # a node, for offload; None without it
    step: StepPart
    measured: MeasuredStep | None  # what the step rests on; None without a profile
    run: RunPart
    cost: CostPart
    energy: EnergyPart

    @property
    def configuration(self) -> Configuration:
        return self.choice.configuration

    @property
    def fits(self) -> bool:
        """By the best estimate, on the device and, for offloaded states, on the host."""
        return self.choice.fits and not self.host_shortage

    @property
    def fit_probability(self) -> float:
        if self.host_shortage:
            return 0.0
        return self.memory_spread.below(self.peak_bytes, self.capacity_bytes)

    @property
    def host_shortage(self) -> float:
        """Bytes of host memory a node that offload lacks of what the run states; 0 if enough."""
        given = self.scenario.run.hardware.host_memory
        if given is None or self.host_bytes is None:
            return 0.0
        return max(self.host_bytes - given, 0.0)


def outline(each: Scenario) -> Outline:
    """Choose what `each` leaves open and evaluate it. Raises PlannerError."""
    return outlined(each, constants())


def outlined(each: Scenario, c: Constants) -> Outline:
    """As `outline`, under given constants."""
    pool = candidates(each)
    memory = memory_spread(memory_doubts(pool.configuration(0), each.stack))
    choice = choose(pool, memory, c)
    parts = named_parts(choice.evaluation.step, choice.index)
    one = pool.batch if pool.batch.size == 1 else single(choice.configuration, each)
    doubts = doubts_of(each)
    if each.device is None or not splits_data_alone(one):  # a profile of one device times launches
        doubts += launch_doubt(parts)
    spread = time_spread(doubts)
    measured = measured_step(each, as_computed(one, each.lengths), parts, spread)
    if measured is not None:
        parts, spread = dict(measured.parts), measured.spread
    step = step_part(each, choice.configuration, parts, spread)
    saved = checkpoint_bytes(one)
    run = run_part(each, choice.configuration, step, saved)
    return Outline(
        scenario=each,
        pool=pool,
        choice=choice,
        batch=one,
        doubts=doubts,
        memory_spread=memory,
        peak_bytes=float(choice.evaluation.peak[choice.index]),
        capacity_bytes=float(choice.evaluation.capacity[choice.index]),
        checkpoint_bytes=saved,
        host_bytes=host_bytes(one, choice.configuration),
        step=step,
        measured=measured,
        run=run,
        cost=cost_of(each, run),
        energy=energy_of(each, run),
    )


def step_part(
    each: Scenario, made: Configuration, device_parts: dict[str, float], spread: Spread
) -> StepPart:
    """The step with its parts, and the wait for the data loader where a loader's rate is stated."""
    device, loader = sum(device_parts.values()), loader_seconds(each, made)
    parts = {**device_parts, "input": max(loader - device, 0.0)}
    low, high = spread.bounds(device)
    return StepPart(
        seconds=sum(parts.values()),
        low=max(low, loader),
        high=max(high, loader),
        parts=parts,
        bottleneck="input" if loader > device else "gpu",
    )


def named_parts(record: Any, index: int) -> dict[str, float]:
    """One candidate's value of every array of a record, by name."""
    return {item.name: at(getattr(record, item.name), index) for item in fields(record)}


def at(value: Any, index: int) -> float:
    """One candidate's value of an array that may be shared by all."""
    array = np.asarray(value)
    return float(array.item(index if array.size > 1 else 0))
