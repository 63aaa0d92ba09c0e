"""What a precision recipe, an optimizer and a software stack cost per parameter and per kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.engine.formats import ACTIVATION, BYTES, MATMUL
from planner.engine.host import host_work
from planner.engine.records import columns
from planner.engine.states import States, states_of

if TYPE_CHECKING:
    from planner.engine.configuration import Configuration
    from planner.stacks import Stack

Array = np.ndarray[Any, np.dtype[Any]]

ADAPTER_TASKS = ("lora", "qlora")

# scaling recipe -> passes against delayed scaling, which casts with last step's maximum; current
# scaling reads once more for the maximum, block formats write scales, FP4 adds a transform
QUANTISE = {"": 1.5, "delayed": 1.0, "current-scaling": 2.0, "mxfp8": 1.5, "blockwise": 1.5}
QUANTISE |= {"nvfp4": 2.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Formats, state sizes and software traits of a batch, (n,) each."""

    activation_bytes: Array  # bytes per activation element
    matmul_bytes: Array  # bytes per operand element of a large product
    quantised: Array  # 0 or 1: operands are cast down from the activation format
    quantise_weight: Array  # passes over the operands to scale and cast them, delayed scaling = 1
    adapters: Array  # 0 or 1: the base weights are frozen, adapters train
    weight_bytes: Array  # per trainable parameter: the copy that the forward pass reads
    grad_bytes: Array  # per trainable parameter
    master_bytes: Array  # per trainable parameter: FP32 master weights
    moment_bytes: Array  # per trainable parameter: optimizer moments
    frozen_bytes: Array  # per frozen parameter inside linear layers
    grad_shard_from: Array  # lowest sharding stage (1, 2, 3) that divides gradients
    reduce_bytes: Array  # per parameter, wire format of the gradient reduction
    update_traffic: Array  # bytes read and written per parameter by the optimizer step
    update_temporary: Array  # bytes per parameter that the optimizer step allocates for a moment
    update_largest: Array  # the same per parameter of the largest tensor
    update_kernels: Array  # launches per parameter tensor of the optimizer step
    flash_generation: Array  # 1, 2, 3; vendor kernels count as 3
    vendor_attention: Array  # 0 or 1: cuDNN or Transformer Engine attention
    eager: Array  # 0 or 1: norms, rotary and activations run as separate small kernels
    native: Array  # 0 or 1: hand-written kernels, a fused classifier that works in place
    graphs: Array  # share of a dense layer's launches that a CUDA graph replays
    graphs_experts: Array  # the same of the experts'
    host_layer: Array  # operations of one layer, forward and backward: see host.py
    host_again: Array
    host_tensor: Array
    host_shard: Array
    host_experts: Array
    host_per_expert: Array
    host_exchange: Array
    host_adapters: Array
    launches: Array  # kernels of one layer, forward and backward
    launches_again: Array
    launches_experts: Array
    launches_per_expert: Array
    overlap_grads: Array  # 0 or 1: gradient reduction runs beside the backward pass
    overlap_params: Array  # 0 or 1: parameter gathers run beside the forward pass
    overlap_tensor: Array  # 0 or 1: tensor-parallel collectives are split and overlapped
    fused_exchange: Array  # 0 or 1: expert exchange by DeepEP or HybridEP
    expert_overlap: Array  # 0 or 1: expert exchange runs beside compute
    selective_ops: Array  # 0 or 1: selective recomputation repeats single products, not attention
    year: Array  # of the software


def recipes(configurations: Sequence[Configuration], stacks: Sequence[Stack]) -> Recipe:
    """The arrays of one recipe per configuration."""
    pairs = list(zip(configurations, stacks, strict=True))
    states = [states_of(configuration, stack) for configuration, stack in pairs]
    rows = [_row(*pair, state) for pair, state in zip(pairs, states, strict=True)]
    return Recipe(**columns(rows))


def _row(configuration: Configuration, stack: Stack, states: States) -> dict[str, float]:
    return {**_formats(configuration), **states.numbers(), **_traits(configuration, stack)}


def _formats(configuration: Configuration) -> dict[str, float]:
    matmul = MATMUL[configuration.precision]
    activation = ACTIVATION[configuration.precision]
    quantised = BYTES[matmul] < BYTES[activation]
    return {
        "activation_bytes": BYTES[activation],
        "matmul_bytes": BYTES[matmul],
        "quantised": float(quantised),
        "quantise_weight": QUANTISE[configuration.fp8_recipe] * float(quantised),
        "adapters": float(configuration.task in ADAPTER_TASKS),
    }


def _graphs(configuration: Configuration, stack: Stack) -> tuple[float, float]:
    """Shares of the dense layers' and of the experts' launches that a graph replays.

    Partial graphs hold attention, norms and the router; dynamic shapes keep experts out.
    """
    captured = configuration.cuda_graphs or ("full" if stack.cuda_graphs else "none")
    return {"none": (0.0, 0.0), "partial": (0.8, 0.0), "full": (1.0, 1.0)}[captured]


def _traits(configuration: Configuration, stack: Stack) -> dict[str, float]:
    compiled = configuration.compile != "none"
    flash = configuration.flash or stack.flash
    generation = {"none": 2.0, "fa1": 1.0, "fa2": 2.0, "sdpa": 2.0}.get(flash, 3.0)
    return {
        "flash_generation": generation,
        "vendor_attention": float(flash in ("cudnn", "te", "xla")),
        "eager": float(stack.kernels == "eager" and not compiled),
        "native": float(stack.launch == "native"),
        "graphs": _graphs(configuration, stack)[0],
        "graphs_experts": _graphs(configuration, stack)[1],
        **host_work(configuration, stack).numbers(),
        "overlap_grads": float(stack.overlap_grads),
        "overlap_params": float(stack.overlap_params),
        "overlap_tensor": float(stack.overlap_tensor),
        "fused_exchange": float(configuration.dispatcher in ("deepep", "hybridep")),
        "expert_overlap": float(configuration.expert_overlap),
        "selective_ops": float(stack.kernels in ("eager", "compiled")),
        "year": float(configuration.year),
    }
