"""Seconds of one optimizer step of a traced module, by the rates that transformers have too.

A product costs compute plus traffic, added, as everywhere; a convolution is the product that it
stands for, but moves its own tensors, not the unrolled ones. Everything else is bound by memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.choices import COMPILES, RECOMPUTES
from planner.engine.constants import Constants
from planner.engine.host import kernel_operations
from planner.engine.launch import waited
from planner.engine.rates import Rates, attention_rate, rates
from planner.engine.reduction import reduction_seconds
from planner.engine.step import BACKWARD_SHARE, HSDP, ZERO3, StepSeconds, sharding_seconds
from planner.engine.table import Affine, Row, Work
from planner.engine.traced_constants import traced_constants
from planner.engine.update import accumulation_seconds, offload_seconds, optimizer_seconds
from planner.engine.weights import local_weights

if TYPE_CHECKING:
    from planner.engine.table import Table

Array = np.ndarray[Any, np.dtype[Any]]

FULL = RECOMPUTES.index("full")
NOT_COMPILED = COMPILES.index("none")


def step_seconds(batch: Batch, c: Constants) -> StepSeconds:
    """The parts of one optimizer step of every candidate."""
    table = batch.table
    assert table is not None
    parallel, zero = batch.parallel, np.zeros(1)
    weights, sustained = local_weights(batch), rates(batch, c)
    parts = _micro_batch(table, batch, sustained, c)
    again = parts.pop("again")
    device = sum(parts.values(), again)
    sharding = sharding_seconds(batch, weights, device, c)
    launch = waited(device + sharding, host_seconds(table, batch, c), c)
    backward = BACKWARD_SHARE * (device + launch)
    steps = parallel.accumulation
    return StepSeconds(
        **{name: value * steps for name, value in parts.items()},
        recompute=again * steps,
        sharding=sharding * steps,
        launch=launch * steps,
        data_parallel=reduction_seconds(batch, weights, backward, c),
        accumulation=accumulation_seconds(batch, weights, sustained.memory, c),
        optimizer=optimizer_seconds(batch, weights, sustained.memory, c),
        offload=offload_seconds(batch, weights, c),
        overhead=np.full(1, c.step_seconds),
        **dict.fromkeys(_ABSENT, zero),
    )


_ABSENT = (
    "routing",
    "output_layer",
    "tensor_parallel",
    "context_parallel",
    "expert_parallel",
    "pipeline",
)


def at(line: Affine, samples: Array) -> Array:
    """a + b·samples."""
    result: Array = line[0] + line[1] * samples
    return result


def _micro_batch(table: Table, batch: Batch, sustained: Rates, c: Constants) -> dict[str, Array]:
    """Seconds of one micro-batch, forward and backward; `again` is what recomputation adds."""
    plain = work_seconds(table.work(batch.precision), batch, sustained, c)
    full = batch.parallel.recompute == FULL
    again = np.zeros(1)
    if full.any():
        repeated = work_seconds(table.work(batch.precision, "full"), batch, sustained, c)
        longer = sum(repeated.values(), np.zeros(1)) - sum(plain.values(), np.zeros(1))
        again = np.where(full, np.maximum(longer, 0.0), 0.0)
    return {**plain, "again": again}


def work_seconds(work: Work, batch: Batch, sustained: Rates, c: Constants) -> dict[str, Array]:
    """Products, attention and memory-bound operations of one micro-batch, seconds, (n,)."""
    own = traced_constants()
    samples = batch.parallel.micro_batch
    total = {name: at(line, samples) for name, line in work.totals.items()}
    fused = np.where(batch.parallel.compile != NOT_COMPILED, fused_share(c), 1.0)
    moved = total["norm_bytes"] * own.norm_traffic + total["pointwise_bytes"] * fused
    tensor_cores = batch.precision != "fp32"
    faster = own.convolution_rate if tensor_cores else own.convolution_rate_fp32
    turned = own.channels_first_traffic if tensor_cores else 1.0
    products = total["product_flops"] + total["convolution_flops"] / faster
    traffic = total["product_bytes"] + total["channels_last_bytes"]
    traffic = traffic + total["channels_first_bytes"] * turned
    return {
        "matmul": products / sustained.matmul + traffic / sustained.memory,
        "attention": sum((row_seconds(row, batch, c) for row in work.attention), np.zeros(1)),
        "elementwise": moved / sustained.memory,
    }


def fused_share(c: Constants) -> float:
    """Share of the memory-bound traffic between products that a compiler leaves."""
    return c.elementwise_compiled / c.elementwise_eager


def seconds_of(row: Row, batch: Batch, sustained: Rates, c: Constants) -> Array:
    """Seconds of equal operations in one micro-batch, (n,): their share of `work_seconds`."""
    one = Work(rows=(row,), moments=np.zeros((0, 3)), saved=(0.0, 0.0))
    return sum(work_seconds(one, batch, sustained, c).values(), np.zeros(1))


def row_seconds(row: Row, batch: Batch, c: Constants) -> Array:
    """Attention of equal kernels: FLOP over the flash rate at their head width and keys, (n,)."""
    rate = attention_rate(batch, c, np.array([row.head_dim]), np.array([row.keys]))
    flops = at(row.flops, batch.parallel.micro_batch)
    result: Array = flops * row.count / rate
    return result


def host_seconds(table: Table, batch: Batch, c: Constants) -> Array:
    """Host time of one micro-batch: operations through Python and autograd, kernel launches."""
    recipe, parallel = batch.recipe, batch.parallel
    full = parallel.recompute == FULL
    plain = _launches(table.work(batch.precision), batch, c)
    if full.any():
        plain = np.where(full, _launches(table.work(batch.precision, "full"), batch, c), plain)
    sharded = (parallel.sharding == ZERO3) | (parallel.sharding == HSDP)
    hooks = c.host_op_seconds * recipe.host_shard * table.units * sharded
    result: Array = (plain + hooks) * (recipe.host_layer > 0)
    return result * (1 - recipe.graphs * (1 - c.graph_share))


def _launches(work: Work, batch: Batch, c: Constants) -> Array:
    kernels, ops = work.kernels, kernel_operations()
    eager = kernels["forward"] * ops["forward"] + kernels["backward"] * ops["backward"]
    every = kernels["forward"] + kernels["backward"]
    compiled = batch.parallel.compile != NOT_COMPILED
    host = np.where(compiled, kernels["compiled"] * ops["compiled"], eager) * c.host_op_seconds
    launched = np.where(compiled, kernels["compiled"], every) * c.kernel_seconds
    result: Array = host + launched
    return result
