"""The TOML form of a torchtitan configuration, for 0.2."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from planner.trainers.job import Job
from planner.trainers.torchtitan import sections
from planner.trainers.torchtitan.models import Shipped


def toml_text(job: Job, model: Shipped) -> str:
    """The file's text without its head."""
    return "\n".join(_table(name, values) for name, values in tables(job, model).items())


def tables(job: Job, model: Shipped) -> dict[str, dict[str, Any]]:
    """Sections and keys of the file."""
    made = job.made
    found: dict[str, dict[str, Any]] = {
        "model": {
            "name": model.module,
            "flavor": model.flavor,
            "converters": ["quantize.linear.float8"] if made.precision == "fp8" else [],
        },
        "training": sections.training(job),
        "parallelism": sections.parallelism(job),
        "activation_checkpoint": _recompute(job),
        "compile": {"enable": made.compile != "none", "components": ["model", "loss"]},
        "optimizer": {"name": "AdamW", "implementation": sections.implementation(job)},
        "lr_scheduler": sections.scheduler(job),
    }
    if made.precision == "fp8":
        found["quantize.linear.float8"] = {"recipe_name": "rowwise", "filter_fqns": ["output"]}
    if job.save_steps is not None:
        found["checkpoint"] = {"enable": True, "interval": job.save_steps}
    return found


def _recompute(job: Job) -> dict[str, str]:
    if job.made.recompute == "selective":
        return {"mode": "selective", "selective_ac_option": "op"}
    return {"mode": job.made.recompute}


def _table(name: str, values: Mapping[str, Any]) -> str:
    """One section. Words, numbers, truth values and lists of words are written alike in JSON."""
    return f"[{name}]\n" + "".join(f"{key} = {json.dumps(v)}\n" for key, v in values.items())
