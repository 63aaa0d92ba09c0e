"""How fast one size of model trains on the run's hardware, under the best settings for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from planner.engine.choices import RECOMPUTES
from planner.engine.model import Model
from planner.errors import PlannerError
from planner.planning.intervals import Z80
from planner.planning.length import run_part
from planner.planning.outline import Outline, outline
from planner.planning.scenario import Scenario, scenario
from planner.run import Run

SURE = 0.9  # probability of fitting from which settings are preferred


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """One size at its best. Rates are of the whole job, with all overheads but the start-up."""

    name: str
    params: float  # as the law counts them
    params_total: int
    layers: int
    hidden: int  # elements
    tokens_per_second: float
    time_sigma: float  # standard deviation of the logarithm of the time
    startup_seconds: float
    mfu: float
    fits: bool  # by the best estimate
    fit_probability: float
    peak_bytes: float
    capacity_bytes: float
    settings: Mapping[str, Any]  # degrees above 1, sharding, micro-batch, accumulation, recompute
    own: bool  # the run's own model

    @property
    def flops_per_second(self) -> float | None:
        """Training FLOP as laws count them, 6 a parameter and token; None where it does not fit."""
        return 6 * self.params * self.tokens_per_second if self.fits else None

    def tokens_in(self, seconds: float) -> float:
        """Tokens that so much wall time trains on."""
        return max(seconds - self.startup_seconds, 0.0) * self.tokens_per_second

    def seconds_for(self, tokens: float) -> float:
        """Wall time of training on `tokens`."""
        return self.startup_seconds + tokens / self.tokens_per_second


def with_tokens(run: Run, tokens: float) -> Run:
    """The run on so many tokens, however its own amount of data is said."""
    return run.changed({"data.tokens": max(math.ceil(tokens), 1)})


def best_outline(run: Run, model: Model) -> Outline | None:
    """The fastest settings that fit `model`, of every layout, micro-batch and recomputation; those
    that fit surely before those that may. None where no layout is possible."""
    found = [each for each in (_tried(run, model, word) for word in RECOMPUTES) if each]
    return min(found, key=_rank) if found else None


def _tried(run: Run, model: Model, recompute: str) -> Outline | None:
    try:
        return outline(scenario(run.changed({"training.recompute": recompute}), model=model))
    except PlannerError:
        return None


def _rank(bones: Outline) -> tuple[bool, bool, float]:
    unsure = bones.fit_probability < SURE
    worth = bones.run.seconds if bones.fits else bones.peak_bytes / bones.capacity_bytes
    return not bones.fits, unsure, worth


def pace_of(bones: Outline, *, params: float, seconds: float, own: bool) -> Pace:
    """The pace of a planned size; overheads are those of a run of about `seconds`."""
    from planner.planning.rates import throughput_of

    throughput, model = throughput_of(bones), bones.scenario.model
    assert throughput.tokens_per_second is not None, "a family of transformers"
    length = _run_of(bones, throughput.tokens_per_second * seconds)
    startup = length.parts["startup"]
    return Pace(
        name=model.name,
        params=params,
        params_total=model.params_total,
        layers=model.layers,
        hidden=model.hidden,
        tokens_per_second=length.tokens / (length.seconds - startup),
        time_sigma=math.log(bones.step.high / bones.step.seconds) / Z80,
        startup_seconds=startup,
        mfu=throughput.mfu,
        fits=bones.fits,
        fit_probability=bones.fit_probability,
        peak_bytes=bones.peak_bytes,
        capacity_bytes=bones.capacity_bytes,
        settings=_settings(bones),
        own=own,
    )


def _run_of(bones: Outline, tokens: float) -> Any:
    """The length of the same run on other data."""
    each: Scenario = replace(bones.scenario, run=with_tokens(bones.scenario.run, tokens))
    return run_part(each, bones.configuration, bones.step, bones.checkpoint_bytes)


def _settings(bones: Outline) -> dict[str, Any]:
    made = bones.configuration
    degrees = {name: getattr(made, name) for name in ("tp", "pp", "cp", "ep", "dp")}
    return {
        **{name: degree for name, degree in degrees.items() if degree > 1},
        "sharding": made.sharding,
        "micro_batch": made.micro_batch,
        "accumulation": made.accumulation,
        "recompute": made.recompute,
    }
