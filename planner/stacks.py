"""How each training stack is usually run, to fill in what a plan or a published row leaves out.

The facts sit in `stacks.toml`, one table per stack and era, each with its source.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from planner.engine import choices
from planner.errors import PlannerError, nearest

KERNELS = ("eager", "fused", "compiled", "xla")
LAUNCHES = ("python-eager", "rng-checkpoint", "fused", "graph", "xla", "native")
FLASH_GENERATIONS = ("none", "fa1", "fa2", "sdpa", "fa3", "cudnn", "te", "xla")
METERS = ("allocated", "active", "reserved", "nvidia-smi", "compiled")
UNITS = ("GB", "GiB")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """One training stack as it is usually run in one era. Bytes are per parameter of the model.

    The four byte fields describe mixed-precision bf16 training with Adam, unless `precision` says
    otherwise. `*_shard_from` names the mildest sharding that splits that part over the
    data-parallel group: zero1, zero2 or zero3.
    """

    name: str
    title: str  # as people write it
    since: str  # first date, ISO, for which the practice is documented
    year: int  # of the software
    precision: str  # choices.PRECISIONS the byte fields describe
    sharding: str  # choices.SHARDINGS
    recompute: str  # choices.RECOMPUTES
    attention: str  # choices.ATTENTIONS
    flash: str  # FLASH_GENERATIONS
    loss: str  # choices.LOSSES
    optimizer: str  # choices.OPTIMIZERS
    param_bytes: float  # weights that compute uses and that persist
    grad_bytes: float
    master_bytes: float
    state_bytes: float  # moments of the optimizer
    param_shard_from: str
    grad_shard_from: str
    state_shard_from: str  # master weights and moments
    reduce_dtype: str  # fp32 | bf16 | fp16: of the gradient reduction
    overlap_grads: bool  # reduction runs beside the backward pass
    overlap_params: bool  # gathers run beside the forward pass
    overlap_tensor: bool  # tensor-parallel collectives are split and overlapped
    sequence_parallel: bool  # when tp > 1
    compile: str  # choices.COMPILES
    cuda_graphs: bool
    kernels: str  # KERNELS: norm, rotary, activation
    launch: str  # LAUNCHES: what launches the kernels
    implementation: str  # engine/data/implementations.toml: the code of model and loss
    meter: str  # METERS: what its printed peak memory counts
    meter_unit: str  # UNITS
    counting: str  # what its printed throughput counts
    source: str
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check(self, "precision", choices.PRECISIONS)
        _check(self, "sharding", choices.SHARDINGS)
        _check(self, "recompute", choices.RECOMPUTES)
        _check(self, "attention", choices.ATTENTIONS)
        _check(self, "flash", FLASH_GENERATIONS)
        _check(self, "loss", choices.LOSSES)
        _check(self, "optimizer", choices.OPTIMIZERS)
        _check(self, "compile", choices.COMPILES)
        _check(self, "kernels", KERNELS)
        _check(self, "launch", LAUNCHES)
        _check(self, "meter", METERS)
        _check(self, "meter_unit", UNITS)
        _check(self, "reduce_dtype", ("fp32", "bf16", "fp16"))
        for part in ("param_shard_from", "grad_shard_from", "state_shard_from"):
            _check(self, part, ("zero1", "zero2", "zero3"))

    @property
    def bytes_per_parameter(self) -> float:
        """Weights, gradients, master weights and moments together, nothing sharded.

        >>> stack("megatron").bytes_per_parameter
        18.0
        """
        return self.param_bytes + self.grad_bytes + self.master_bytes + self.state_bytes


def _check(row: Stack, field: str, words: tuple[str, ...]) -> None:
    word = getattr(row, field)
    if word not in words:
        raise PlannerError(f"stacks.{row.name}.{field}", word, f"one of {', '.join(words)}")


@cache
def stacks() -> dict[str, Stack]:
    """Every stack by name, in the order of stacks.toml. Aliases are not keys."""
    text = (Path(__file__).parent / "stacks.toml").read_text(encoding="utf-8")
    rows: dict[str, dict[str, Any]] = tomllib.loads(text)
    return {name: _row(name, fields) for name, fields in rows.items()}


def _row(name: str, fields: dict[str, Any]) -> Stack:
    aliases = tuple(fields.pop("aliases", ()))
    try:
        return Stack(name=name, aliases=aliases, **fields)
    except TypeError as error:
        raise PlannerError(f"stacks.{name}", sorted(fields), f"fix stacks.toml: {error}") from None


@cache
def _names() -> dict[str, str]:
    """Every name and alias to the name of its row."""
    return {word: row.name for row in stacks().values() for word in (row.name, *row.aliases)}


def stack(name: str) -> Stack:
    """The stack of that name or alias.

    >>> stack("fms-fsdp").name
    'pytorch-fsdp'

    Raises PlannerError for an unknown name, with the nearest known ones.
    """
    key = str(name).strip().lower().replace("_", "-").replace(" ", "-")
    names = _names()
    if key in names:
        return stacks()[names[key]]
    close = nearest(key, names)
    hint = f"did you mean {', '.join(close)}?" if close else f"known: {', '.join(stacks())}"
    raise PlannerError("training.stack", name, hint)
