"""A plan as a trainer sees it: sizes, formats and degrees with nothing left open."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.engine.configuration import Configuration
from planner.engine.model import Model
from planner.run import Run
from planner.stacks import Stack

if TYPE_CHECKING:
    from planner.planning.outline import Outline

ADAPTER_TASKS = ("lora", "qlora")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One decided run. Degrees multiply to the devices, batches to the global batch."""

    run: Run
    model: Model
    made: Configuration
    vendor: str  # of the accelerator, as hardware_db names it
    stack: Stack  # the software that the plan rests on
    steps: int  # optimizer steps
    step_seconds: float
    seconds: float  # of the whole run
    longest_seconds: float  # upper end of the 80 % interval of `seconds`

    @property
    def name(self) -> str:
        """A name for files and jobs.

        Letters, digits and dashes, whatever the model's path holds.
        """
        last = re.split(r"[/\\:]", self.model.name.removesuffix("/config.json"))[-1]
        plain = re.sub(r"[^a-z0-9]+", "-", last.lower().removesuffix(".json")).strip("-")
        return (plain or "model")[:48]

    @property
    def nodes(self) -> int:
        return self.made.num_devices // self.made.devices_per_node

    @property
    def shard_degree(self) -> int:
        """Devices that share the states: all data and context ranks unless the plan says fewer."""
        if self.made.sharding == "none":
            return 1
        return self.made.shard_degree or self.made.dp * self.made.cp

    @property
    def replicas(self) -> int:
        """Copies of the sharded states (or of everything, unsharded)."""
        return max(self.made.dp * self.made.cp // self.shard_degree, 1)

    @property
    def replicate_degree(self) -> int:
        """Data-parallel degree that only copies, context ranks aside."""
        return self.made.dp if self.made.sharding == "none" else min(self.replicas, self.made.dp)

    @property
    def data_shard_degree(self) -> int:
        """Data-parallel degree that shards, context ranks aside: the rest of dp."""
        return self.made.dp // self.replicate_degree

    @property
    def adapters(self) -> bool:
        return self.made.task in ADAPTER_TASKS

    @property
    def flash(self) -> str:
        """Generation of flash attention that the plan counts with."""
        return self.made.flash or self.stack.flash

    @property
    def save_steps(self) -> int | None:
        """Steps between checkpoints; None where the run does not say."""
        every = self.run.overhead.checkpoint_every
        return None if every is None else max(1, round(every.in_steps(self.step_seconds)))

    def heading(self, software: str) -> list[str]:
        """Two lines that say where a file comes from and how its batch multiplies."""
        made = self.made
        return [
            f"{self.model.name} on {made.num_devices} x {made.sku}, {self.steps:,} steps; "
            f"written by forerun for {software}",
            f"global batch {made.global_batch} = micro-batch {made.micro_batch} x accumulation "
            f"{made.accumulation} x data parallel {made.dp}",
        ]


def job_of(bones: Outline) -> Job:
    """A plan, or a candidate of a search, as a job."""
    each = bones.scenario
    return Job(
        run=each.run,
        model=each.model,
        made=bones.configuration,
        vendor=each.accelerator.vendor,
        stack=each.stack,
        steps=bones.run.steps,
        step_seconds=bones.step.seconds,
        seconds=bones.run.seconds,
        longest_seconds=bones.run.high,
    )
