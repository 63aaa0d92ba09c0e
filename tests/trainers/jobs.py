"""Plans that the tests of the trainers share: stated ones, and random ones of a search space."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from planner.planning.outline import outline
from planner.planning.scenario import scenario
from planner.run import Run
from planner.search.restrictions import restrictions
from planner.search.space import Space, space
from planner.trainers import Job, job_of

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
def _space(model: str, stack: str) -> Space:
    run = run_of(model, hardware__count=MODELS[model], training__stack=stack)
    wide = ["sharding=all", "compile=all", "loss=all", "precision=bf16,fp8,fp16"]
    return space(run, restrictions(fix=["count"], tries=wide))


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """A random candidate of a search, as a job."""
    model = draw(st.sampled_from(sorted(MODELS)))
    found = _space(model, draw(st.sampled_from(("torchtitan", "megatron", "deepspeed"))))
    group = draw(st.sampled_from(found.groups))
    index = draw(st.integers(0, group.table.size - 1))
    run = group.run(index, "on-demand").changed(
        {
            "training.optimizer": draw(st.sampled_from(("adamw", "adamw-fused", "adamw8bit"))),
            "training.offload": draw(
                st.sampled_from(("none", "none", "optimizer", "params+optimizer"))
            ),
            "training.schedule": draw(st.sampled_from(("cosine", "linear", "wsd", "constant"))),
        }
    )
    return job_of(outline(scenario(run, model=group.scenario.model)))
