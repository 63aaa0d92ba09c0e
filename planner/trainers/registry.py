"""The trainers that a plan can be written for, one module each."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from planner.errors import PlannerError, nearest
from planner.trainers import holds
from planner.trainers.export import Export

if TYPE_CHECKING:
    from planner.trainers.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A trainer or a launcher. Its module has `write(job) -> Export` and `check(job)`."""

    name: str
    module: str
    says: str  # what the file is, for help
    stack: str | None  # the software of stacks.toml that it runs; None = any


_ALL = (
    Target(
        name="torchtitan",
        module="torchtitan",
        says="a Python function (0.3), and a TOML for 0.2",
        stack="torchtitan",
    ),
    Target(name="megatron", module="megatron", says="a shell script", stack="megatron"),
    Target(name="deepspeed", module="deepspeed", says="ds_config.json", stack="deepspeed"),
    Target(name="accelerate", module="accelerate", says="a launch YAML", stack="accelerate"),
    Target(
        name="hf-trainer", module="hf_trainer", says="TrainingArguments, JSON", stack="hf-trainer"
    ),
    Target(name="axolotl", module="axolotl", says="a YAML", stack="axolotl"),
    Target(name="skypilot", module="skypilot", says="a task YAML", stack=None),
    Target(name="slurm", module="slurm", says="an sbatch script", stack=None),
)
TARGETS = {each.name: each for each in _ALL}
assert set(TARGETS) == set(holds.HOLDS), "every target says what it holds"


def target(name: str, field: str = "--export") -> Target:
    """The target of a name, in any case. Raises PlannerError with the nearest names."""
    word = str(name).strip().lower().replace("_", "-")
    if word in TARGETS:
        return TARGETS[word]
    near = nearest(word, TARGETS, count=1)
    guess = f"did you mean {near[0]}? " if near else ""
    raise PlannerError(field, name, f"{guess}known are {', '.join(TARGETS)}")


def export(name: str, job: Job) -> Export:
    """The plan as the config of target `name`.

    Raises PlannerError for an unknown target, and for what its config cannot hold, with the field,
    the value, what would do and which other target can.
    """
    which = target(name)
    check(which.name, job)
    made: Export = _module(which).write(job)
    return made


def check(name: str, job: Job) -> None:
    """Refuse what the config of target `name` cannot hold. Raises PlannerError as `export` does."""
    which = target(name)
    holds.check(which.name, job)
    _module(which).check(job)


def _module(which: Target) -> ModuleType:
    return import_module(f"planner.trainers.{which.module}")
