"""What each trainer's config can hold, as one table: words by axis, and degrees that must stay 1.

A plan that the target cannot hold is refused with the field, the value, what would do, and who can
(`check`). Rules over two axes stand in the target's own module, as its `check`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from planner.engine import choices
from planner.errors import PlannerError

if TYPE_CHECKING:
    from planner.trainers.job import Job

_TORCH_ADAM = ("adamw", "adamw-foreach", "adamw-fused")
_HF_OPTIMIZERS = (*_TORCH_ADAM, "adamw8bit", "adafactor", "lion", "sgd")
_ALL_OPTIMIZERS = tuple(word for word in choices.OPTIMIZERS if word != "none")
_ZERO = ("none", "zero1", "zero2", "zero3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds:
    """The words of `engine.choices` that a config can hold, and the degrees above 1 that it can."""

    task: tuple[str, ...] = choices.TASKS
    precision: tuple[str, ...] = choices.PRECISIONS
    sharding: tuple[str, ...] = tuple(w for w in choices.SHARDINGS if w != "layer-split")
    recompute: tuple[str, ...] = choices.RECOMPUTES
    offload: tuple[str, ...] = choices.OFFLOADS
    optimizer: tuple[str, ...] = _ALL_OPTIMIZERS
    attention: tuple[str, ...] = choices.ATTENTIONS
    loss: tuple[str, ...] = choices.LOSSES
    compile: tuple[str, ...] = choices.COMPILES
    degrees: tuple[str, ...] = ("tp", "pp", "cp", "ep", "interleave")


HOLDS: dict[str, Holds] = {
    "torchtitan": Holds(
        task=("pretrain", "full-ft", "lora"),
        precision=("fp32", "tf32", "bf16", "pure-bf16", "fp8", "nvfp4"),
        sharding=("none", "zero2", "zero3", "hsdp"),
        offload=("none", "params+optimizer"),
        optimizer=_TORCH_ADAM,
        attention=("flash",),
        loss=("eager", "chunked", "vocab-parallel"),
        compile=("none", "regional"),
    ),
    "megatron": Holds(
        task=("pretrain", "full-ft"),
        precision=("fp32", "fp16", "bf16", "fp8", "nvfp4"),
        offload=("none", "optimizer"),
        optimizer=("adamw", "adamw-fused", "sgd", "sgd-momentum"),
        loss=("eager", "vocab-parallel", "fused"),
        compile=("none",),
    ),
    "deepspeed": Holds(
        precision=("fp32", "tf32", "fp16", "bf16", "pure-bf16"),
        sharding=_ZERO,
        degrees=("tp",),
    ),
    "accelerate": Holds(
        precision=("fp32", "tf32", "fp16", "bf16", "pure-bf16", "fp8"),
        degrees=("tp", "cp"),
    ),
    "hf-trainer": Holds(
        precision=("fp32", "tf32", "fp16", "bf16", "pure-bf16"),
        sharding=_ZERO,
        recompute=("none", "full"),
        optimizer=_HF_OPTIMIZERS,
        loss=("eager", "fused"),
        compile=("none", "full"),
        degrees=(),
    ),
    "axolotl": Holds(
        precision=("fp32", "tf32", "fp16", "bf16", "pure-bf16", "fp8"),
        offload=("none", "params+optimizer"),
        optimizer=(*_HF_OPTIMIZERS, "muon"),
        loss=("eager", "fused", "chunked"),
        compile=("none", "full"),
        degrees=("tp", "cp"),
    ),
    "skypilot": Holds(optimizer=choices.OPTIMIZERS, sharding=choices.SHARDINGS),
    "slurm": Holds(optimizer=choices.OPTIMIZERS, sharding=choices.SHARDINGS),
}
LAUNCHERS = ("skypilot", "slurm")  # they start a trainer and hold none of its settings
WORDS = tuple(item.name for item in fields(Holds) if item.name != "degrees")
DEGREES = Holds().degrees
_IN_LAYOUT = ("sharding", *DEGREES)


def check(name: str, job: Job) -> None:
    """Refuse what the config of target `name` cannot hold. Raises PlannerError."""
    holds = HOLDS[name]
    if name not in LAUNCHERS:
        _check_device(name, job)
    for axis in DEGREES:
        degree = getattr(job.made, axis)
        if degree > 1 and axis not in holds.degrees:
            raise refusal(name, axis, degree, instead=("1",))
    for axis in WORDS:
        word = getattr(job.made, axis)
        if word not in getattr(holds, axis):
            raise refusal(name, axis, word, instead=getattr(holds, axis))


def _check_device(name: str, job: Job) -> None:
    if job.vendor not in ("nvidia", "amd"):
        remedy = f"the {name} config is written for NVIDIA and AMD GPUs: name one of them"
        raise PlannerError("hardware.sku", job.made.sku, remedy)


def refusal(
    name: str, axis: str, value: object, *, instead: tuple[str, ...] = (), why: str = ""
) -> PlannerError:
    """The error for one setting that target `name` cannot hold: what would do, and who can."""
    field = f"training.{'layout.' if axis in _IN_LAYOUT else ''}{axis}"
    parts = [f"the {name} config cannot hold it{f' {why}' if why else ''}"]
    if instead:
        parts.append(f"take {' or '.join(instead)}")
    able = [other for other in holders(axis, value) if other != name]
    if able:
        parts.append(f"or export to {', '.join(able)}")
    return PlannerError(field, value, ": ".join([parts[0], ", ".join(parts[1:])]).rstrip(": "))


def holders(axis: str, value: object) -> list[str]:
    """The trainers whose config can hold this word, or this axis above 1."""
    found = []
    for name, holds in HOLDS.items():
        able = axis in holds.degrees if axis in DEGREES else value in getattr(holds, axis, ())
        if able and name not in LAUNCHERS:
            found.append(name)
    return found
