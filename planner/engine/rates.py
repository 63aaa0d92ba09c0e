"""How fast a machine runs an operation: sustained matmul and attention rates, memory traffic.

A product costs compute plus traffic, added: 2·m·n·k / rate + bytes / bandwidth. Overlap inside a
kernel would give the maximum; the sum fits published runs better at every size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.constants import Constants
from planner.engine.operations import Product, attended_tokens

Array = np.ndarray[Any, np.dtype[Any]]

TILE_M, TILE_N = 128, 256  # output tile of the large-product kernels
REFERENCE_WATTS_PER_FLOPS = 700 / 989.4e12  # of an H100 SXM: board watts per dense 16-bit FLOP/s


def family_fraction(batch: Batch, c: Constants) -> Array:
    """Sustained fraction of the best matmul rate in 16 bits or more, (n,): by vendor, and less on parts whose board
    power is small for their peak, since a long run heats them up and a benchmark does not."""
    machine = batch.machine
    vendor = np.where(
        machine.tpu > 0, c.gemm_tpu, np.where(machine.amd > 0, c.gemm_amd, c.gemm_nvidia)
    )
    density = machine.power / machine.dense16_peak / REFERENCE_WATTS_PER_FLOPS
    throttle = np.where(density < 1, density**c.power_exponent, 1.0)
    result: Array = vendor * throttle
    return result


def matmul_rate(batch: Batch, c: Constants) -> Array:
    """Sustained FLOP/s of large products in the recipe's matmul format, (n,)."""
    machine, recipe = batch.machine, batch.recipe
    unmeasured = np.where(recipe.quantised > 0, c.achievable_quantised, c.achievable_default)
    best = np.where(np.isnan(machine.matmul_achievable), unmeasured, machine.matmul_achievable)
    sustained = np.where(recipe.quantised > 0, c.gemm_quantised, family_fraction(batch, c))
    result: Array = machine.matmul_peak * best * sustained
    return result


def attention_format_rate(batch: Batch, c: Constants) -> Array:
    """Sustained FLOP/s of large products in the activation format, (n,)."""
    machine = batch.machine
    best = np.where(
        np.isnan(machine.attention_achievable), c.achievable_default, machine.attention_achievable
    )
    result: Array = machine.attention_peak * best * family_fraction(batch, c)
    return result


def bandwidth(batch: Batch, c: Constants) -> Array:
    """Sustained bytes/s of device memory, (n,)."""
    result: Array = batch.machine.bandwidth * c.bandwidth
    return result


def flash_rate(batch: Batch, c: Constants) -> Array:
    """Sustained FLOP/s of flash attention, forward and backward together, (g, n)."""
    recipe, machine = batch.recipe, batch.machine
    modern = machine.generation >= 9.0
    vendor = (recipe.vendor_attention > 0) | (recipe.flash_generation >= 3)
    newest = np.where(vendor, c.flash_vendor, c.flash_hopper)
    fraction = np.where(modern, newest, c.flash)
    fraction = np.where(recipe.flash_generation < 2, c.flash_first, fraction)
    narrow = np.where(batch.shape.blocks.head_dim <= 64, c.flash_narrow, 1.0)
    keys = attended_tokens(batch)
    saturation = keys / (keys + c.flash_half_keys)
    result: Array = machine.attention_peak * fraction * narrow * saturation
    return result


def product_seconds(product: Product, batch: Batch, c: Constants) -> Array:
    """Seconds of one product, forward, with the casts that a low-precision recipe adds."""
    recipe = batch.recipe
    if product.low_precision:
        rate, operand = matmul_rate(batch, c), recipe.matmul_bytes
        casts = recipe.quantise_weight * c.quantise_passes * recipe.activation_bytes
    else:
        rate, operand, casts = attention_format_rate(batch, c), recipe.activation_bytes, 0.0
    if product.part == "experts" and product.name.startswith("experts"):
        rate = rate * np.where(batch.machine.tpu > 0, 1.0, c.expert_rate)
    compute = product.flops / rate * shape_penalty(product, batch, c)
    operands = (product.m + product.n) * product.k * product.groups
    outputs = product.m * product.n * product.groups
    traffic = operands * (operand + casts) + outputs * recipe.activation_bytes
    exists = (product.n > 0) & (product.k > 0)  # other kinds of layers lack this product
    result: Array = np.where(exists, compute + traffic / bandwidth(batch, c), 0.0)
    return result


def shape_penalty(product: Product, batch: Batch, c: Constants) -> Array:
    """Factor of at least 1 for a short inner dimension and an incomplete last wave of tiles."""
    short = 1 + c.gemm_k_half / np.maximum(product.k, 1)
    if c.wave_weight == 0:
        return np.asarray(short)
    tiles = np.ceil(product.m / TILE_M) * np.ceil(product.n / TILE_N) * product.groups
    waves = np.maximum(tiles, 1) / np.where(
        np.isnan(batch.machine.sm_count), 1.0, batch.machine.sm_count
    )
    idle = np.where(np.isnan(batch.machine.sm_count), 0.0, np.ceil(waves) / waves - 1)
    result: Array = short * (1 + c.wave_weight * np.minimum(idle, 8.0))
    return result
