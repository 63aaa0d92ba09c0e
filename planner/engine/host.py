"""Host work of one layer by software style, measured: dispatch, autograd, modules, hooks.

An asynchronous queue hides the host behind long kernels; short kernels wait for it. The counts are
multiples of one plain operation's host time, measured by `python -m benchmarks.host_overhead` and
stored in `data/host_overhead.json`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.engine.records import values

if TYPE_CHECKING:
    from planner.engine.configuration import Configuration
    from planner.stacks import Stack

FILE = Path(__file__).parent / "data" / "host_overhead.json"

COMPILED_KERNELS = 8.0  # launches of a compiled layer and pass: products, attention, fused rest


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWork:
    """Operations and kernel launches of one layer, forward and backward together."""

    host_layer: float
    host_again: float  # added by full recomputation
    host_tensor: float  # added by tensor parallelism
    host_shard: float  # added by full sharding
    host_experts: float  # added by a mixture of experts
    host_per_expert: float  # added by each local expert
    host_exchange: float  # added by expert parallelism
    host_adapters: float  # added by adapters
    launches: float
    launches_again: float
    launches_experts: float  # added by a mixture of experts
    launches_per_expert: float

    def numbers(self) -> dict[str, float]:
        return values(self)


NOTHING = HostWork(**dict.fromkeys(HostWork.__dataclass_fields__, 0.0))


def host_work(configuration: Configuration, stack: Stack) -> HostWork:
    """The host work of a configuration's layers under its stack."""
    style = style_of(configuration, stack)
    return NOTHING if style is None else _work(style)


def style_of(configuration: Configuration, stack: Stack) -> str | None:
    """The measured style of a stack's layers; None where nothing runs on the host per layer."""
    style = _table()["stacks"].get(stack.name)
    if style is None or stack.launch in ("xla", "native"):
        return None
    if configuration.compile == "full":
        return "torch-compiled-whole"
    if configuration.compile == "regional" and not style.startswith("torch-compiled"):
        return "torch-compiled"
    return str(style)


@cache
def _work(style: str) -> HostWork:
    plain, mixture = _operations(style), _operations("megatron-core-moe-8")
    per_expert = (mixture - _operations("megatron-core-moe-2")) / 6
    kernels = _kernels("megatron-core-moe-8")
    kernels_per_expert = (kernels - _kernels("megatron-core-moe-2")) / 6
    return HostWork(
        host_layer=plain,
        host_again=_value(style, "recompute_ops") or plain / 2,
        host_tensor=_operations("megatron-core-tp") - _operations("megatron-core"),
        host_shard=_sharding(style),
        host_experts=mixture - 8 * per_expert - _operations("megatron-core"),
        host_per_expert=per_expert,
        host_exchange=_operations("megatron-core-moe-8-ep") - mixture,
        host_adapters=_operations("hf-lora") - _operations("hf-reentrant"),
        launches=_kernels(style),
        launches_again=_value(style, "kernels_recompute") or COMPILED_KERNELS,
        launches_experts=kernels - 8 * kernels_per_expert - _kernels("megatron-core"),
        launches_per_expert=kernels_per_expert,
    )


def _sharding(style: str) -> float:
    """What sharding hooks add: FSDP2's for torch-native stacks, else FSDP1's."""
    if style.startswith("torch"):
        return _operations("torch-native-fsdp2") - _operations("torch-native")
    return _operations("composer-fsdp1") - _operations("composer")


def _operations(style: str) -> float:
    return (_value(style, "forward_ops") or 0.0) + (_value(style, "backward_ops") or 0.0)


def _kernels(style: str) -> float:
    forward, backward = _value(style, "kernels_forward"), _value(style, "kernels_backward")
    if forward is None or backward is None:
        return 3 * COMPILED_KERNELS
    return forward + backward


def _value(style: str, name: str) -> float | None:
    value = _table()["styles"][style][name]
    return None if value is None else float(value)


@cache
def kernel_operations() -> dict[str, float]:
    """Host operations per kernel of plain modules, by direction, and of compiled code.

    Means of the measured layers of plain torch modules (torch-native, hf), whose kernels are
    counted too; compiled, of whole compiled layers.
    """
    plain = ("torch-native", "hf")
    compiled = _operations("torch-compiled-whole") / (2 * COMPILED_KERNELS)
    ratios = {
        way: sum(
            (_value(style, f"{way}_ops") or 0.0) / (_value(style, f"kernels_{way}") or 1.0)
            for style in plain
        )
        / len(plain)
        for way in ("forward", "backward")
    }
    return {**ratios, "compiled": compiled}


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return table
