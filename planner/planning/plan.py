"""The plan of one run: choose what is open, evaluate, and put the answer together."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.configuration import Configuration
from planner.engine.constants import Constants, constants
from planner.engine.memory import memory_bytes
from planner.planning.candidates import Candidates, candidates, single
from planner.planning.choose import Choice, choose
from planner.planning.doubts import doubts_of, evidence_of
from planner.planning.intervals import Spread, memory_spread, time_spread
from planner.planning.length import run_part
from planner.planning.money import cost_of, energy_of
from planner.planning.phases import checkpoint_bytes, host_bytes, phase_bytes
from planner.planning.quality import loss_of, stop_of
from planner.planning.result import MemoryPart, ModelPart, Plan, StepPart, Throughput
from planner.planning.scenario import Scenario, scenario
from planner.planning.warn import warnings_of

if TYPE_CHECKING:
    from planner.engine.model import Model
    from planner.run import Run

FITS, DOES_NOT = 0.9, 0.1  # probabilities from which the verdict is certain


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan with what it was made of, for advice and explanations."""

    plan: Plan
    scenario: Scenario
    configuration: Configuration
    batch: Batch  # of one


def plan(run: Run, *, model: Model | None = None) -> Plan:
    """Does `run` fit, how long does it take, what does it cost, how good will the model be.

    A `model` at hand is taken instead of the one that `run.model` names. Raises PlannerError for
    what the user can mend.
    """
    return planned(run, model=model).plan


def planned(run: Run, *, model: Model | None = None) -> Planned:
    """The plan of `run` with its scenario and its chosen configuration."""
    return planned_scenario(scenario(run, model=model))


def planned_scenario(each: Scenario) -> Planned:
    """The plan of a run whose names are looked up."""
    c = constants()
    pool = candidates(each)
    choice = choose(pool, c)
    one = pool.batch if pool.batch.size == 1 else single(choice.configuration, each)
    answer = _assemble(each, pool, choice, one, c)
    return Planned(plan=answer, scenario=each, configuration=choice.configuration, batch=one)


def _assemble(each: Scenario, pool: Candidates, choice: Choice, one: Batch, c: Constants) -> Plan:
    configuration = choice.configuration
    doubts = doubts_of(each, configuration)
    time, memory = time_spread(doubts), memory_spread(doubts)
    step = _step(choice, time)
    held = _memory(one, choice, configuration, memory, c)
    run = run_part(each, configuration, step, time, held.checkpoint_bytes)
    probability = memory.below(held.peak_bytes, held.capacity_bytes)
    throughput = _throughput(each, configuration, step.seconds)
    return Plan(
        fits=choice.fits,
        verdict=_verdict(probability),
        fit_probability=probability,
        shortfall=None if choice.fits else _shortfall(held),
        model=_model(each),
        step=step,
        throughput=throughput,
        memory=held,
        chosen=_chosen(each, pool, choice),
        run=run,
        cost=cost_of(each, run),
        energy=energy_of(each, run),
        loss=loss_of(each, run),
        stop=stop_of(each, run),
        evidence=evidence_of(each, configuration, doubts),
        warnings=warnings_of(each, configuration, throughput),
    )


def _verdict(probability: float) -> str:
    if probability >= FITS:
        return "fits"
    return "does-not" if probability <= DOES_NOT else "uncertain"


def _shortfall(held: MemoryPart) -> dict[str, Any]:
    return {"what": "memory", "bytes": held.peak_bytes - held.capacity_bytes}


def _model(each: Scenario) -> ModelPart:
    from planner.models import flops_per_token

    model = each.model
    return ModelPart(
        name=model.name,
        params_total=model.params_total,
        params_active=model.params_active,
        params_trainable=each.trainable_params,
        flops_per_token=flops_per_token(model, each.seq_len),
    )


def _at(value: Any, index: int) -> float:
    """One candidate's value of an array that may be shared by all."""
    array = np.ravel(value)
    return float(array[index if array.size > 1 else 0])


def _parts(record: Any, index: int) -> dict[str, float]:
    return {item.name: _at(getattr(record, item.name), index) for item in fields(record)}


def _step(choice: Choice, spread: Spread) -> StepPart:
    parts = _parts(choice.evaluation.step, choice.index)
    seconds = sum(parts.values())
    low, high = spread.bounds(seconds)
    return StepPart(seconds=seconds, low=low, high=high, parts=parts)


def _throughput(each: Scenario, configuration: Configuration, seconds: float) -> Throughput:
    from planner.engine.formats import MATMUL
    from planner.models import flops_per_token

    rate = configuration.tokens_per_step / seconds
    per_device = rate / configuration.num_devices
    flops = flops_per_token(each.model, each.seq_len) * per_device
    again = {"full": 4 / 3, "selective": 1.0, "none": 1.0}[configuration.recompute]
    number_format = MATMUL[configuration.precision]
    peak = each.accelerator.peak(number_format) or each.accelerator.peak("fp32") or float("nan")
    if configuration.task in ("lora", "qlora"):
        flops = flops * 2 / 3  # frozen weights have no gradient products
    return Throughput(
        tokens_per_second=rate,
        tokens_per_second_per_device=per_device,
        samples_per_second=configuration.global_batch / seconds,
        mfu=flops / peak,
        hfu=flops * again / peak,
        tflops_per_device=flops / 1e12,
        peak_tflops=peak / 1e12,
    )


def _memory(
    one: Batch, choice: Choice, configuration: Configuration, spread: Spread, c: Constants
) -> MemoryPart:
    parts = _parts(choice.evaluation.memory, choice.index)
    peak = sum(parts.values())
    low, high = spread.bounds(peak)
    return MemoryPart(
        peak_bytes=peak,
        low=low,
        high=high,
        capacity_bytes=_at(choice.evaluation.capacity, choice.index),
        parts=parts,
        stages=_stages(one, configuration, c),
        phases=phase_bytes(one, c),
        host_bytes_per_node=host_bytes(one, configuration),
        checkpoint_bytes=checkpoint_bytes(one),
    )


def _stages(one: Batch, configuration: Configuration, c: Constants) -> list[dict[str, Any]]:
    """Memory of the first and the last pipeline stage, which bound the others."""
    names = ["first", "last"] if configuration.pp > 1 else ["first"]
    rows = []
    for name in names:
        held = memory_bytes(one, c, name)
        total = _at(held.total, 0)
        rows.append({"stage": name, "peak_bytes": total, "parts": _parts(held, 0)})
    return rows


def _chosen(each: Scenario, pool: Candidates, choice: Choice) -> dict[str, Any]:
    """The whole configuration, with what was chosen for the user and why."""
    made, training = choice.configuration, each.run.training
    layout = {name: getattr(made, name) for name in ("tp", "pp", "cp", "ep", "dp", "sharding")}
    layout |= {"interleave": made.interleave, "sequence_parallel": made.sequence_parallel}
    open_choices = {
        "layout": training.layout is None,
        "micro_batch": training.micro_batch is None,
        "accumulation": training.accumulation is None,
        "global_batch": training.global_batch is None,
        "loss": training.loss is None,
    }
    return {
        "sku": made.sku,
        "count": made.num_devices,
        "per_node": made.devices_per_node,
        "interconnect": each.network_name,
        "micro_batch": made.micro_batch,
        "accumulation": made.accumulation,
        "global_batch": made.global_batch,
        "seq_len": made.seq_len,
        "layout": layout,
        "task": made.task,
        "precision": made.precision,
        "optimizer": made.optimizer,
        "recompute": made.recompute,
        "attention": made.attention,
        "loss": made.loss,
        "compile": made.compile,
        "offload": made.offload,
        "stack": made.stack,
        "by_planner": [name for name, was_open in open_choices.items() if was_open],
        "reasons": {**each.stated, **pool.reasons},
        "compared": choice.count,
    }
