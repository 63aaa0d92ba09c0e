"""The plan of one run: choose what is open, evaluate, and put the answer together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.engine.constants import constants
from planner.engine.memory import memory_bytes
from planner.planning.chosen import chosen_of
from planner.planning.doubts import evidence_of
from planner.planning.outline import Outline, at, named_parts, outline
from planner.planning.phases import phase_bytes
from planner.planning.quality import loss_of, stop_of
from planner.planning.rates import flops_of, throughput_of
from planner.planning.result import MemoryPart, ModelPart, Plan
from planner.planning.scenario import Scenario, scenario
from planner.planning.shortfall import shortfall_of
from planner.planning.warn import warnings_of

if TYPE_CHECKING:
    from planner.engine.model import Model
    from planner.run import Run

FITS, DOES_NOT = 0.9, 0.1  # probabilities from which the verdict is certain


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan with what it was made of, for advice and explanations."""

    plan: Plan
    outline: Outline

    @property
    def scenario(self) -> Scenario:
        return self.outline.scenario


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
    bones = outline(each)
    return Planned(plan=_assemble(bones), outline=bones)


def _assemble(bones: Outline) -> Plan:
    each, probability = bones.scenario, bones.fit_probability
    throughput, loss = throughput_of(bones), loss_of(each, bones.run)
    extrapolated = [] if loss.beyond_fit is None else [f"loss: {loss.beyond_fit['says']}"]
    return Plan(
        fits=bones.fits,
        verdict=verdict_of(probability),
        fit_probability=probability,
        shortfall=shortfall_of(bones),
        model=_model(each),
        step=bones.step,
        throughput=throughput,
        memory=_memory(bones),
        chosen=chosen_of(bones),
        run=bones.run,
        cost=bones.cost,
        energy=bones.energy,
        loss=loss,
        stop=stop_of(each, bones.run, bones.cost),
        evidence=evidence_of(bones),
        warnings=[*warnings_of(bones, throughput), *extrapolated],
    )


def verdict_of(probability: float) -> str:
    """fits | uncertain | does-not, from the probability that the peak stays under the capacity."""
    if probability >= FITS:
        return "fits"
    return "does-not" if probability <= DOES_NOT else "uncertain"


def _model(each: Scenario) -> ModelPart:
    model = each.model
    per_token, per_sample = flops_of(each, each.seq_len)
    return ModelPart(
        name=model.name,
        params_total=model.params_total,
        params_active=model.params_active,
        params_trainable=each.trainable_params,
        flops_per_token=per_token,
        flops_per_sample=per_sample,
    )


def _memory(bones: Outline) -> MemoryPart:
    low, high = bones.memory_spread.bounds(bones.peak_bytes)
    return MemoryPart(
        peak_bytes=bones.peak_bytes,
        low=low,
        high=high,
        capacity_bytes=bones.capacity_bytes,
        parts=named_parts(bones.choice.evaluation.memory, bones.choice.index),
        stages=_stages(bones),
        phases=_phases(bones),
        host_bytes_per_node=bones.host_bytes,
        checkpoint_bytes=bones.checkpoint_bytes,
    )


def _phases(bones: Outline) -> dict[str, float]:
    """Phases of the chosen candidate, which is at hand where it was the only one."""
    if bones.pool.batch.size > 1:
        return phase_bytes(bones.batch, constants())
    evaluation = bones.choice.evaluation
    return phase_bytes(bones.batch, constants(), evaluation.memory, evaluation.moments)


def _stages(bones: Outline) -> list[dict[str, Any]]:
    """Memory of the first and the last pipeline stage, which bound the others."""
    if bones.configuration.pp == 1:
        evaluation, index = bones.choice.evaluation, bones.choice.index
        parts = named_parts(evaluation.memory, index)
        return [{"stage": "only", "peak_bytes": float(evaluation.peak[index]), "parts": parts}]
    rows = []
    for name in ("first", "last"):
        held = memory_bytes(bones.batch, constants(), name)
        total = at(np.asarray(held.total), 0)
        rows.append({"stage": name, "peak_bytes": total, "parts": named_parts(held, 0)})
    return rows
