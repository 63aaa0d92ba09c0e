"""A case planned by the profile, and really trained, between two looks at the machine's pace."""

from __future__ import annotations

import gc
import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from benchmarks.profile_steps.pace import pace
from planner import Run, plan
from planner.engine.model import Model
from planner.planning.measured import curve_sigma
from planner.planning.outline import outline
from planner.planning.result import Plan
from planner.planning.scenario import scenario
from profiles.device import Device, open_device
from profiles.step import StepMeasurement, measure_step
from profiles.training import TrainingStep

WARM_STEPS = 4  # an allocator keeps what it once had only after some steps


class Case(Protocol):
    """A model under one batch and format."""

    @property
    def name(self) -> str: ...
    @property
    def micro_batch(self) -> int: ...
    @property
    def precision(self) -> str: ...
    def run(self, profile: str) -> Run: ...
    def model(self) -> Model | None: ...
    def step(self, device: Device) -> TrainingStep: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A plan and what was measured, the time at the pace of the profile."""

    case: Case
    plan: Plan
    real: StepMeasurement
    pace: float  # of the machine, time now over time of the profile
    curves: float  # standard deviation of the logarithm that the curves are known to err by

    @property
    def seconds(self) -> float:
        """Measured, with what a plan adds for a loader and logging, which the bare loop lacks."""
        return self.real.step_s / self.pace + self.plan.step.parts["overhead"]

    @property
    def log_error(self) -> float:
        return math.log(self.plan.step.seconds / self.seconds)

    @property
    def inside(self) -> bool:
        return self.plan.step.low <= self.seconds <= self.plan.step.high

    @property
    def tensor_bytes(self) -> float:
        """Planned peak of the tensors alone: what counting tensors on a CPU sees."""
        parts = self.plan.memory.parts
        return self.plan.memory.peak_bytes - parts["reserve"] - parts["context"]


def compared(case: Case, profile: str, device: Device, seconds: float) -> Compared:
    """Plan the case and measure it between two looks at the machine's pace."""
    run, model = case.run(profile), case.model()
    found = plan(run, model=model)
    bones = outline(scenario(run, model=model))
    assert bones.measured is not None
    before = pace(profile, device, found)
    real = in_fresh_process(case, device, seconds)
    after = pace(profile, device, found)
    share = bones.measured.curves / bones.measured.total
    error = curve_sigma(bones.scenario, bones.measured.device)
    return Compared(
        case=case,
        plan=found,
        real=real,
        pace=math.sqrt(before * after),
        curves=share * (error or 0.0),
    )


def in_fresh_process(case: Case, device: Device, seconds: float) -> StepMeasurement:
    """The case's real step in a new process, with the same threads and clock."""
    begun = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=begun) as pool:
        threads = device.torch.get_num_threads()
        return pool.submit(_measured, case, device.clock, threads, seconds).result()


def _measured(case: Case, clock: str, threads: int, seconds: float) -> StepMeasurement:
    device = open_device("cpu")
    device.torch.set_num_threads(threads)
    device.clock = clock
    step = case.step(device)
    for _ in range(WARM_STEPS):
        step()
    found = measure_step(step, device=device, steps=5, seconds=seconds)
    del step
    gc.collect()
    return found
