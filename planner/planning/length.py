"""How long the whole run takes, from its step time and its overheads."""

from __future__ import annotations

import math
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING

from planner.engine.assumptions import assumed
from planner.engine.configuration import Configuration
from planner.engine.run_length import DAY, Interruptions, run_seconds
from planner.planning.intervals import run_bounds
from planner.planning.result import RunPart, StepPart
from planner.planning.scenario import Scenario

if TYPE_CHECKING:
    from planner.run import RunLength


def run_part(
    each: Scenario, configuration: Configuration, step: StepPart, checkpoint_bytes: float
) -> RunPart:
    """Steps, wall time with overheads, device-hours, and whether a deadline is met."""
    length = amount_of(each, configuration.global_batch)
    whole = run_seconds(
        steps=length.steps,
        step_seconds=step.seconds,
        devices=each.num_devices,
        nodes=math.ceil(each.num_devices / each.devices_per_node),
        interruptions=_interruptions(each, step.seconds, checkpoint_bytes),
    )
    total, days = whole.total, each.run.budget.days
    low, high = run_bounds(total, step.seconds, step.high)
    return RunPart(
        steps=length.steps,
        tokens=None if each.model.table else length.tokens,
        samples=length.samples,
        epochs=length.epochs,
        seconds=total,
        low=low,
        high=high,
        parts={item.name: getattr(whole, item.name) for item in fields(whole)},
        device_hours=total * each.num_devices / 3600,
        goodput=whole.goodput,
        finish_by_deadline=None if days is None else total <= days * DAY,
        deadline_seconds=None if days is None else days * DAY,
    )


def amount_of(each: Scenario, global_batch: int) -> RunLength:
    """Steps, samples and real tokens of the run, packed rows counted as the samples they hold."""
    from planner.run import run_length

    lengths, data = each.lengths, each.run.data
    if lengths is None:
        return run_length(data, seq_len=each.seq_len, global_batch=global_batch)
    mean = Fraction(lengths.mean)
    samples = lengths.samples_per_row * global_batch
    return run_length(data, seq_len=mean, global_batch=samples)


def loader_seconds(each: Scenario, configuration: Configuration) -> float:
    """Seconds that the hosts' loaders need for one step's samples; 0 where no rate is stated."""
    rate = each.run.data.loader_rate
    if not rate:
        return 0.0
    hosts = math.ceil(each.num_devices / each.devices_per_node)
    return configuration.global_batch / (rate * hosts)


def _interruptions(each: Scenario, step_seconds: float, checkpoint: float) -> Interruptions:
    overhead = each.run.overhead
    failures = overhead.failures
    return Interruptions(
        checkpoint_bytes=checkpoint,
        checkpoint_interval=_interval(overhead.checkpoint_every, step_seconds),
        evaluation_interval=_interval(overhead.evaluate_every, step_seconds),
        failures_per_device_day=assumed("failures_per_device_day")
        if failures is None
        else failures,
    )


def _interval(every: object, step_seconds: float) -> float | None:
    """Seconds between two occurrences."""
    from planner.run import Every

    if every is None:
        return None
    assert isinstance(every, Every)
    return every.in_steps(step_seconds) * step_seconds
