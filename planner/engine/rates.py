"""How fast a machine runs an operation: sustained matmul and attention rates, memory traffic.

A product costs compute plus traffic, added: 2·m·n·k / rate + bytes / bandwidth. Overlap inside a
kernel would give the maximum; the sum fits published runs better at every size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.constants import Constants
from planner.engine.operations import Product, attended_tokens

Array = np.ndarray[Any, np.dtype[Any]]

REFERENCE_WATTS_PER_FLOPS = 700 / 989.4e12  # of an H100 SXM: board watts per dense 16-bit FLOP/s


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What a batch's machines sustain, (n,) each."""

    matmul: Array  # FLOP/s of large products in the recipe's matmul format
    activation: Array  # FLOP/s of large products in the activation format
    memory: Array  # bytes/s of device memory
    casts: Array  # bytes per operand element to scale and cast it


def rates(batch: Batch, c: Constants) -> Rates:
    """Sustained rates of every candidate's machine and recipe."""
    machine, recipe = batch.machine, batch.recipe
    wide = wide_fraction(batch, c)
    unmeasured = np.where(recipe.quantised > 0, c.achievable_quantised, c.achievable_default)
    best = np.where(np.isnan(machine.matmul_achievable), unmeasured, machine.matmul_achievable)
    sustained = np.where(recipe.quantised > 0, c.gemm_quantised, wide)
    best_wide = np.where(
        np.isnan(machine.attention_achievable), c.achievable_default, machine.attention_achievable
    )
    return Rates(
        matmul=machine.matmul_peak * best * sustained,
        activation=machine.attention_peak * best_wide * wide,
        memory=machine.bandwidth * c.bandwidth,
        casts=recipe.quantise_weight * c.quantise_passes * recipe.activation_bytes,
    )


def wide_fraction(batch: Batch, c: Constants) -> Array:
    """Sustained fraction of the best matmul rate in 16 bits or more, (n,).

    By vendor, and less on parts whose board power is small for their peak: a long run heats them
    up, a benchmark does not.
    """
    machine = batch.machine
    vendor = np.where(
        machine.tpu > 0, c.gemm_tpu, np.where(machine.amd > 0, c.gemm_amd, c.gemm_nvidia)
    )
    density = machine.power / machine.dense16_peak / REFERENCE_WATTS_PER_FLOPS
    result: Array = vendor * np.where(density < 1, density**c.power_exponent, 1.0)
    return result


def flash_rate(batch: Batch, c: Constants) -> Array:
    """Sustained FLOP/s of flash attention, forward and backward together, (g, n)."""
    return attention_rate(batch, c, batch.shape.blocks.head_dim, attended_tokens(batch))


def attention_rate(batch: Batch, c: Constants, head_dim: Array, keys: Array) -> Array:
    """The same of heads `head_dim` wide whose queries see `keys` keys."""
    recipe, machine = batch.recipe, batch.machine
    vendor = (recipe.vendor_attention > 0) | (recipe.flash_generation >= 3)
    newest = np.where(vendor, c.flash_vendor, c.flash_hopper)
    fraction = np.where(machine.generation >= 9.0, newest, c.flash)
    fraction = np.where(recipe.flash_generation < 2, c.flash_first, fraction)
    narrow = np.where(head_dim <= 64, c.flash_narrow, 1.0)
    result: Array = machine.attention_peak * fraction * narrow * keys / (keys + c.flash_half_keys)
    return result


def product_seconds(product: Product, batch: Batch, sustained: Rates, c: Constants) -> Array:
    """Seconds of one product, forward, with the casts that a low-precision recipe adds."""
    recipe = batch.recipe
    if product.low_precision:
        rate, per_operand = sustained.matmul, recipe.matmul_bytes + sustained.casts
    else:
        rate, per_operand = sustained.activation, recipe.activation_bytes
    if product.grouped:
        rate = rate * np.where(batch.machine.tpu > 0, 1.0, c.expert_rate)
    operands = (product.m + product.n) * (product.k * product.groups)
    outputs = product.m * (product.n * product.groups)
    flops = outputs * (2 * product.k)
    traffic = operands * per_operand + outputs * recipe.activation_bytes
    seconds: Array = flops / rate + traffic / sustained.memory
    exists = (product.n > 0) & (product.k > 0)  # other kinds of layers lack this product
    return seconds if exists.all() else np.where(exists, seconds, 0.0)
