"""Runs that the tests of planning share."""

from __future__ import annotations

from typing import Any

from planner.planning.outline import Outline, outline
from planner.planning.scenario import scenario
from planner.run import Run

H100, A100 = "h100-sxm5-80gb", "a100-sxm4-80gb"


def job(model: str = "llama-3-8b", **changes: object) -> Run:
    """Pre-training on 64 H100, decided but for what `changes` opens; keys dotted, dots as __."""
    base: dict[str, Any] = {
        "data.tokens": 10**12,
        "data.seq_len": 8192,
        "hardware.sku": H100,
        "hardware.count": 64,
        "training.micro_batch": 1,
        "training.global_batch": 1024,
        "training.layout": "sharding=fsdp",
        "training.recompute": "full",
        "training.stack": "torchtitan",
    }
    given = {name.replace("__", "."): value for name, value in changes.items()}
    if set(given) & {"data.samples", "data.epochs"}:
        del base["data.tokens"]
    return Run(model=model).changed(base | given)


def fine_tune(model: str = "llama-2-7b", **changes: object) -> Run:
    """A fine-tune on one device, everything open that may be."""
    base: dict[str, Any] = {
        "data.samples": 10_000,
        "data.seq_len": 1024,
        "hardware.sku": A100,
        "hardware.count": 1,
        "training.task": "full-ft",
    }
    given = {name.replace("__", "."): value for name, value in changes.items()}
    return Run(model=model).changed(base | given)


def bones(run: Run) -> Outline:
    return outline(scenario(run))
