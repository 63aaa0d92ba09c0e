"""Host work of one layer by software style, measured: dispatch, autograd, modules, hooks.

An asynchronous queue hides the host behind long kernels; short kernels wait for it. The counts are
multiples of one plain operation's host time ("op equivalents"), measured by
`python -m benchmarks.host_overhead` and stored in `data/host_overhead.json`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.engine.configuration import Configuration
    from planner.stacks import Stack

FILE = Path(__file__).parent / "data" / "host_overhead.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWork:
    """Op equivalents and kernel launches of one layer."""

    host_forward: float
    host_backward: float
    host_again: float  # added by full recomputation
    host_tensor: float  # added to forward and backward together by tensor parallelism
    host_shard: float  # added to forward and backward together by full sharding
    host_experts: float  # added to forward and backward together by a mixture of experts
    host_exchange: float  # added to forward and backward together by expert parallelism
    host_adapters: float  # added to forward and backward together by adapters
    launches: float  # kernels of forward and backward together
    launches_experts: float

    def numbers(self) -> dict[str, float]:
        return asdict(self)


def host_work(configuration: Configuration, stack: Stack) -> HostWork:
    """The host work of a configuration's layers under its stack."""
    return HostWork(**_styles()[style_of(configuration, stack)])


def style_of(configuration: Configuration, stack: Stack) -> str:
    """The measured style that a stack's layers resemble most."""
    if stack.launch in ("xla", "native"):
        return "compiled-step"
    if stack.launch == "rng-checkpoint":
        return "megatron-2021"
    if stack.flash == "te" or stack.name.startswith(("megatron", "nemo")):
        return "megatron-core"
    if stack.name.startswith("composer"):
        return "composer"
    if configuration.compile != "none" or stack.kernels == "compiled":
        return "compiled-layer"
    return "hf" if stack.kernels == "eager" else "titan"


@cache
def _styles() -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = json.loads(FILE.read_text(encoding="utf-8"))["styles"]
    return table
