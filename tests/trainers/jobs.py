"""Plans that the tests of the trainers share: stated ones, and random ones of a search space."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from planner.engine.choices import SCHEDULES
from planner.planning.outline import outline
from planner.planning.scenario import scenario
from planner.run import Run
from planner.search.restrictions import restrictions
from planner.search.space import Space, space
from planner.trainers import TARGETS, Job, job_of
from planner.trainers.holds import HOLDS
from planner.trainers.narrow import narrowed, runnable

H100 = "h100-sxm5-80gb"
MODELS = {"llama-3-8b": 16, "mixtral-8x7b": 32, "qwen3-0.6b": 4}  # with devices to search on


def run_of(model: str = "llama-3-8b", **changes: object) -> Run:
    """A pre-training run on 16 H100; keys dotted, dots as __."""
    base: dict[str, Any] = {
        "data.tokens": 10**10,
        "data.seq_len": 4096,
        "hardware.sku": H100,
        "hardware.count": 16,
        "hardware.per_node": 8,
        "training.global_batch": 256,
        "training.layout": {"sharding": "zero3"},
        "training.micro_batch": 1,
    }
    given = {name.replace("__", "."): value for name, value in changes.items()}
    return Run(model=model).changed(base | given)


def job(model: str = "llama-3-8b", **changes: object) -> Job:
    """A stated plan as a job."""
    return job_of(outline(scenario(run_of(model, **changes))))


@cache
def space_for(target: str, model: str) -> Space:
    """What a search for `target` tries, with states on the host where the target can."""
    offloads = HOLDS[target].offload
    run = run_of(
        model,
        hardware__count=MODELS[model],
        training__stack=TARGETS[target].stack or "torchtitan",
        training__offload=offloads[-1] if model == "qwen3-0.6b" else "none",
    )
    wide = ["sharding=all", "compile=all", "loss=all", "precision=bf16,fp8,fp16,pure-bf16"]
    limits, _ = narrowed(target, restrictions(fix=["count"], tries=wide))
    return runnable(target, space(run, limits))


@st.composite
def jobs(draw: st.DrawFn, target: str) -> Job:
    """A random candidate of a search for `target`, as a job."""
    found = space_for(target, draw(st.sampled_from(sorted(MODELS))))
    group = draw(st.sampled_from(found.groups))
    index = draw(st.integers(0, group.table.size - 1))
    run = group.run(index, "on-demand").changed(
        {
            "training.optimizer": draw(st.sampled_from(("adamw", "adamw-fused"))),
            "training.schedule": draw(st.sampled_from(SCHEDULES)),
            "overhead.checkpoint_every": draw(st.sampled_from((None, 500, "30min"))),
        }
    )
    return job_of(outline(scenario(run, model=group.scenario.model)))
