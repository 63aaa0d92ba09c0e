"""Bytes per parameter of weights, gradients, master weights and moments under a recipe."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from planner.engine.formats import BYTES

if TYPE_CHECKING:
    from planner.engine.configuration import Configuration
    from planner.stacks import Stack

NF4_BYTES = 0.5 + 0.0625 / 2 + 0.0005  # 4-bit values, 8-bit double-quantised scales of 64 (QLoRA)
STAGES = {"zero1": 1, "zero2": 2, "zero3": 3}

# optimizer -> moments relative to Adam's two
MOMENTS = {
    "adamw": 1.0,
    "adamw-foreach": 1.0,
    "adamw-fused": 1.0,
    "adamw8bit": 2.2 / 8,
    "adafactor": 0.01,
    "lion": 0.5,
    "muon": 0.5,
    "soap": 2.0,
    "sgd": 0.0,
    "sgd-momentum": 0.5,
    "none": 0.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """Bytes per parameter, before any sharding."""

    weight_bytes: float  # per trainable parameter: the persistent copy that compute reads
    grad_bytes: float
    master_bytes: float  # FP32 master weights beside a 16-bit copy
    moment_bytes: float
    frozen_bytes: float  # per frozen parameter of a linear layer
    cast_bytes: float  # 16-bit copies of FP32 weights that autocast keeps for a micro-step
    grad_shard_from: float  # lowest ZeRO stage that divides gradients
    reduce_bytes: float  # wire format of the gradient reduction
    update_traffic: float  # bytes read and written by the optimizer step
    update_temporary: float  # bytes that the optimizer step allocates for a moment
    update_kernels: float  # launches per parameter tensor

    def numbers(self) -> dict[str, float]:
        return asdict(self)


def states_of(configuration: Configuration, stack: Stack) -> States:
    """The bytes of one configuration: the stack's practice, changed by precision and optimizer."""
    optimizer = resolved_optimizer(configuration, stack)
    weight, grad, master, moment = _bytes(configuration, stack)
    moment = moment * MOMENTS[optimizer]
    mixed = configuration.precision not in ("fp32", "tf32", "pure-bf16")
    own_copies = configuration.sharding in ("zero3", "hsdp")
    return States(
        weight_bytes=weight,
        grad_bytes=grad,
        master_bytes=master,
        moment_bytes=moment,
        frozen_bytes=_frozen(configuration),
        cast_bytes=2.0 if mixed and weight == 4 and not own_copies else 0.0,
        grad_shard_from=float(STAGES[stack.grad_shard_from]),
        reduce_bytes=_reduce_bytes(configuration, stack),
        update_traffic=grad + weight + 2 * (master or weight) + 2 * moment,
        update_temporary=weight_of_update(weight, master) if optimizer == "adamw-foreach" else 0.0,
        update_kernels=_update_kernels(optimizer),
    )


def resolved_optimizer(configuration: Configuration, stack: Stack) -> str:
    """Plain `adamw` means the implementation that the stack uses."""
    if configuration.optimizer == "adamw" and stack.optimizer.startswith("adamw"):
        return stack.optimizer
    return configuration.optimizer


def weight_of_update(weight: float, master: float) -> float:
    """Bytes per parameter of the tensors that the optimizer updates."""
    return master or weight


def _bytes(configuration: Configuration, stack: Stack) -> tuple[float, float, float, float]:
    """(weights, gradients, master, Adam moments) in bytes per trainable parameter."""
    precision = configuration.precision
    if precision in ("fp32", "tf32"):
        return 4.0, 4.0, 0.0, 8.0
    if precision == "pure-bf16":
        return 2.0, 2.0, 0.0, 4.0
    if stack.precision in ("pure-bf16", "fp32", "tf32"):
        return 4.0, 4.0, 0.0, 8.0  # mixed precision by autocast over FP32 weights
    return stack.param_bytes, stack.grad_bytes, stack.master_bytes, stack.state_bytes


def _frozen(configuration: Configuration) -> float:
    if configuration.task == "qlora":
        return NF4_BYTES
    return 4.0 if configuration.precision in ("fp32", "tf32") else 2.0


def _reduce_bytes(configuration: Configuration, stack: Stack) -> float:
    if configuration.precision in ("fp32", "tf32"):
        return 4.0
    if configuration.precision == "pure-bf16":
        return 2.0
    return BYTES[stack.reduce_dtype]


def _update_kernels(optimizer: str) -> float:
    """Launches per parameter tensor: multi-tensor kernels share theirs."""
    if optimizer in ("adamw-fused", "adamw-foreach"):
        return 0.2
    return 12.0 if optimizer.startswith("adamw") else 8.0
