"""Runs that the tests of the search share."""

from __future__ import annotations

from typing import Any

from planner.run import Run
from planner.search.restrictions import Restrictions, restrictions
from planner.search.space import Space, space

H100, A100 = "h100-sxm5-80gb", "a100-sxm4-80gb"


def job(model: str = "llama-3-8b", **changes: object) -> Run:
    """Pre-training on 16 H100; keys dotted, dots as __."""
    base: dict[str, Any] = {
        "data.tokens": 10**11,
        "data.seq_len": 4096,
        "hardware.sku": H100,
        "hardware.count": 16,
        "training.global_batch": 256,
    }
    given = {name.replace("__", "."): value for name, value in changes.items()}
    return Run(model=model).changed(base | given)


def limits(**flags: list[str]) -> Restrictions:
    """As the command line says it: `limits(fix=["tp=2"])`; `tries` stands for `--try`."""
    return restrictions(**flags)


def small(run: Run | None = None, **flags: list[str]) -> Space:
    """A space of some thousand candidates: one recipe, one number of accelerators."""
    fixed = ["count", "precision", "compile", "loss", "attention"]
    given = {**flags, "fix": [*fixed, *flags.get("fix", [])]}
    return space(run or job(), limits(**given))
