"""The fitted constants of the performance model, read from one data file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "data" / "constants.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """Numbers that measurements decide; their intervals and origins: `data/constants.json`."""

    gemm_nvidia: float  # sustained fraction of the measured best matmul rate
    gemm_quantised: float  # the same for FP8, FP4 and INT8 products, which draw less power
    gemm_amd: float  # as gemm_nvidia, for AMD
    gemm_tpu: float  # as gemm_nvidia, for TPUs
    achievable_default: float  # best fraction of the dense peak where nobody measured it
    achievable_quantised: float  # the same for FP8, FP4 and INT8 products
    bandwidth: float  # sustained fraction of the memory bandwidth
    power_exponent: float  # of the board power per peak FLOP/s: dense parts throttle
    flash: float  # flash attention up to Ampere, fraction of the dense peak at long sequences
    flash_vendor: float  # FlashAttention-3 and the vendors' kernels on Hopper and later
    flash_first: float  # the first generation and Triton's
    flash_hopper: float  # FlashAttention-2 on Hopper and later
    flash_narrow: float  # factor of heads of 64 or less
    flash_half_keys: float  # attended keys at which flash attention reaches half of its rate
    score_passes_forward: float  # passes over the score matrix of plain attention
    score_passes_backward: float  # the same in the backward pass
    elementwise: float  # factor on the counted bytes of memory-bound work
    elementwise_eager: float  # factor where small kernels are not fused
    elementwise_compiled: float  # factor of a compiled layer
    scan_passes: float  # passes over the inner width of a state-space layer, forward
    quantise_passes: float  # passes over the operands for casts and scales
    expert_passes: float  # passes over routed tokens for permutation, forward
    expert_rate: float  # grouped products against one large product
    host_op_seconds: float  # host time of one plain operation: Python, dispatch, autograd
    kernel_seconds: float  # host time of one kernel launch
    graph_share: float  # share of the host work that a captured graph leaves
    overlap_power: float  # exponent of the soft maximum of device and host time
    step_seconds: float  # per optimizer step: data, logging, launch of the optimizer
    selective: float  # share of a layer's forward work that selective recomputation repeats
    link: float  # sustained fraction of the one-way scale-up link
    network: float  # sustained fraction of the one-way network
    expert_link: float  # the same for the expert all-to-all
    expert_link_fused: float  # the same for DeepEP and HybridEP
    expert_network: float  # sustained fraction of the network in the expert all-to-all
    expert_hidden: float  # share of the exchange hidden where the stack overlaps it
    collective_seconds: float  # start-up of one collective
    gather_hidden: float  # share of a layer's compute that can hide its gathers
    gather_floor: float  # share of the smaller of both that stays exposed
    reduce_hidden: float  # share of the gradient reduction hidden behind the backward pass
    tensor_hidden: float  # share of tensor-parallel traffic hidden where the stack overlaps it
    logit_bytes: float  # factor on the bytes per logit of the loss
    update_traffic: float  # factor on the optimizer's bytes per parameter
    accumulate_traffic: float  # factor on reading and writing the gradients once a micro-step
    reserve: float  # allocator: reserved against allocated
    reserve_varied: float  # the same for logits alone where batches differ in length
    context_bytes: float  # driver context and libraries, outside the allocator
    communicator_bytes: float  # buffers of one communicator of several ranks


@cache
def constants() -> Constants:
    """The shipped constants."""
    table = json.loads(FILE.read_text())["constants"]
    return Constants(**{name: float(row["value"]) for name, row in table.items()})
