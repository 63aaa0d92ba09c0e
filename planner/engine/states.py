"""Bytes per parameter of weights, gradients, master weights and moments under a recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.engine.formats import BYTES
from planner.engine.implementations import implementation
from planner.engine.records import values

if TYPE_CHECKING:
    from planner.engine.configuration import Configuration
    from planner.stacks import Stack

# 4-bit values, an 8-bit scale per 64 and an FP32 scale per 256 of those (Dettmers et al. 2023)
NF4_BYTES = 0.5 + 1 / 64 + 4 / (64 * 256)
# two 8-bit moments with an FP32 scale per 256 values each (Dettmers et al. 2022)
ADAM8_BYTES = 2 * (1 + 4 / 256)
STAGES = {"zero1": 1, "zero2": 2, "zero3": 3}

# optimizer -> moments relative to Adam's two; the others have their own rule
MOMENTS = {
    "adamw": 1.0,
    "adamw-foreach": 1.0,
    "adamw-fused": 1.0,
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
    grad_shard_from: float  # lowest ZeRO stage that divides gradients
    reduce_bytes: float  # wire format of the gradient reduction
    update_traffic: float  # bytes read and written by the optimizer step
    update_temporary: float  # bytes that the optimizer step allocates for a moment
    update_largest: float  # the same, but for the largest tensor alone
    update_kernels: float  # launches per parameter tensor

    def numbers(self) -> dict[str, float]:
        return values(self)


def states_of(configuration: Configuration, stack: Stack) -> States:
    """The bytes of one configuration: the stack's practice, changed by precision and optimizer."""
    optimizer = resolved_optimizer(configuration, stack)
    weight, grad, master, moment = _bytes(configuration, stack)
    moment = _moments(configuration, optimizer, moment)
    stepped = master or weight
    return States(
        weight_bytes=weight,
        grad_bytes=grad,
        master_bytes=master,
        moment_bytes=moment,
        frozen_bytes=_frozen(configuration),
        grad_shard_from=float(STAGES[stack.grad_shard_from]),
        reduce_bytes=_reduce_bytes(configuration, stack),
        update_traffic=grad + weight + 2 * stepped + 2 * moment,
        update_temporary=_temporary(optimizer, stack, stepped, grad),
        update_largest=_largest(optimizer, stepped),
        update_kernels=_update_kernels(optimizer),
    )


def resolved_optimizer(configuration: Configuration, stack: Stack) -> str:
    """Plain `adamw` means the implementation that the stack uses."""
    if configuration.optimizer == "adamw" and stack.optimizer.startswith("adamw"):
        return stack.optimizer
    return configuration.optimizer


def _moments(configuration: Configuration, optimizer: str, adam: float) -> float:
    """Bytes per parameter; factored moments are a row and a column of each matrix."""
    if optimizer == "adamw8bit":
        return ADAM8_BYTES
    if optimizer == "adafactor":
        return 2 * 4 / configuration.model.hidden
    return adam * MOMENTS[optimizer]


def _temporary(optimizer: str, stack: Stack, stepped: float, grad: float) -> float:
    """A foreach update holds the root of the second moment of all parameters at once.

    DeepSpeed copies its 16-bit gradients, flattened and then in FP32, before its step.
    """
    copies = grad + 4.0 if stack.implementation == "deepspeed" and grad == 2 else 0.0
    return copies + (stepped if optimizer == "adamw-foreach" else 0.0)


def _largest(optimizer: str, stepped: float) -> float:
    """A looping Adam holds two temporaries of a tensor; Muon orthogonalises in 16 bits."""
    if optimizer == "adamw":
        return 2 * stepped
    if optimizer == "adafactor":
        return 10.0 if stepped == 2 else 4.0
    return stepped + 4.0 if optimizer in ("muon", "soap") else 0.0


def _bytes(configuration: Configuration, stack: Stack) -> tuple[float, float, float, float]:
    """(weights, gradients, master, Adam moments) in bytes per trainable parameter."""
    precision = configuration.precision
    if precision in ("fp32", "tf32"):
        return 4.0, 4.0, 0.0, 8.0
    adapters = configuration.task in ("lora", "qlora")
    if adapters and implementation(stack.implementation).adapters != "model":
        return 4.0, 4.0, 0.0, 8.0
    if precision == "pure-bf16" or (adapters and stack.precision == "pure-bf16"):
        return 2.0, 2.0, 0.0, 4.0
    if stack.precision in ("pure-bf16", "fp32", "tf32"):
        return 4.0, 4.0, 0.0, 8.0  # mixed precision by autocast over FP32 weights
    return stack.param_bytes, stack.grad_bytes, stack.master_bytes, stack.state_bytes


def _frozen(configuration: Configuration) -> float:
    if configuration.task == "qlora":
        return NF4_BYTES
    return 4.0 if configuration.precision in ("fp32", "tf32") else 2.0


def _reduce_bytes(configuration: Configuration, stack: Stack) -> float:
    if configuration.reduce_dtype:
        return BYTES[configuration.reduce_dtype]
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
