"""Step time with its numbers put in: rates, the products of one layer, the parts of a step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from planner.engine.constants import constants
from planner.engine.formats import MATMUL
from planner.engine.operations import Product, attention_flops, head_product, layer_products
from planner.engine.rates import flash_rate, product_seconds, rates
from planner.engine.stages import stage_layers
from planner.planning.choose import as_computed
from planner.planning.outline import Outline
from planner.quantities import show_count, show_duration, show_flops, show_rate, show_span

_PARTS = {
    "matmul": "products of the layers, forward once and backward twice (once when frozen)",
    "attention": "score and value products, forward, and 2.5 times that backward",
    "elementwise": "norms, rotary, activations, residuals: bytes / memory bandwidth",
    "routing": "tokens permuted to their experts and back",
    "recompute": "forward work repeated in the backward pass",
    "casts": "between formats, where 16-bit products run over FP32 weights",
    "output_layer": "logits and loss",
    "embedding": "rows gathered, their gradients scattered into the matrix",
    "tensor_parallel": "exposed all-reduces of the residual stream",
    "context_parallel": "exposed ring of keys and values",
    "expert_parallel": "all-to-all to the experts and back",
    "sharding": "exposed gathers of parameters and scatters of gradients",
    "data_parallel": "exposed reduction of the gradients, once a step",
    "pipeline": "bubble: (pp - 1) / interleave micro-batches of idle stages, and transfers",
    "launch": "the device waits for the host to launch kernels",
    "accumulation": "gradients read and written again at every micro-step",
    "optimizer": "bytes of the update / memory bandwidth",
    "page_mapping": "memory that a CPU's system maps anew in each step",
    "offload": "transfers to and from the host and the update there",
    "overhead": "per step: data, logging",
    "input": "waiting for the data loader",
}


def machine_lines(bones: Outline) -> Iterator[str]:
    """Peak, measured fraction, sustained rate, bandwidth, links, each with its source."""
    part, made, c = bones.scenario.accelerator, bones.configuration, constants()
    number_format = MATMUL[made.precision]
    batch, sustained = bones.batch, rates(bones.batch, c)
    rate = _first(sustained.matmul)
    peak = _first(batch.machine.matmul_peak)
    measured = part.achievable_fraction(number_format)
    whose = "here" if bones.measured else "by others"
    best = f"{measured:.1%} measured {whose}" if measured else "unmeasured, a typical fraction"
    yield (
        f"matmul in {number_format}: dense peak {_flops(peak)} ({part.source}); {best}; sustained "
        f"{_flops(rate)} = {rate / peak:.1%} of the peak"
    )
    yield (
        f"memory: {show_rate(part.memory_bandwidth, 'B')} stated, "
        f"{show_rate(_first(sustained.memory), 'B')} sustained"
    )
    yield (
        f"links: {show_rate(_finite(batch.machine.link), 'B')} one way inside "
        f"{_first(batch.machine.domain):.0f} accelerators; network {bones.scenario.network_name}"
    )
    yield "fractions and start-up times: planner/engine/data/constants.json, with their origin"


def layer_lines(bones: Outline) -> Iterator[str]:
    """Each matrix product and the attention of each kind of layer: work, rate, seconds."""
    batch, c = as_computed(bones.batch, bones.scenario.lengths), constants()
    sustained = rates(batch, c)
    kinds = len(np.atleast_1d(batch.shape.blocks.count))
    for kind in range(kinds):
        yield f"{int(_at(batch.shape.blocks.count, kind))} layers of kind {kind + 1}:"
        for product in layer_products(batch):
            seconds = _at(product_seconds(product, batch, sustained, c), kind)
            if _at(product.flops, kind) > 0:
                yield _product_line(product, kind, seconds)
        flops, rate = _at(attention_flops(batch), kind), _at(flash_rate(batch, c), kind)
        if bones.configuration.attention == "flash" and flops > 0:
            yield f"  attention: {_work(flops)} / {_flops(rate)} = {show_duration(flops / rate)}"
    head = head_product(batch)
    if _at(head.flops, 0) > 0:
        yield "output layer:"
        yield _product_line(head, 0, _at(product_seconds(head, batch, sustained, c), 0))


def _product_line(product: Product, kind: int, seconds: float) -> str:
    """2·m·n·k FLOP over the sustained rate, plus the bytes over the bandwidth."""
    m, n, k = (_at(value, kind) for value in (product.m, product.n, product.k))
    groups = _at(product.groups, kind)
    many = f"{groups:g} x " if groups != 1 else ""
    flops = _at(product.flops, kind)
    return (
        f"  {product.name}: {many}2·m·n·k = 2·{m:,.0f}·{n:,.0f}·{k:,.0f} = {_work(flops)}; "
        f"with its traffic {show_duration(seconds)} ({_flops(flops / seconds)})"
    )


def step_lines(bones: Outline) -> Iterator[str]:
    """The parts of the step that take any time, and their sum."""
    made, step = bones.configuration, bones.step
    layers = float(np.sum(stage_layers(bones.batch)))
    traced = bones.scenario.model.table is not None
    yield (
        f"{made.accumulation:,} micro-steps of {made.micro_batch} samples"
        if traced
        else f"{made.accumulation:,} micro-steps of {made.micro_batch} x {made.seq_len:,} tokens "
        f"through {layers:g} layers of the fullest stage"
    )
    if made.pp > 1:
        busy = made.accumulation * made.interleave
        yield (
            f"bubble: (pp - 1) / (accumulation·interleave) = {made.pp - 1} / {busy} = "
            f"{(made.pp - 1) / busy:.1%} of the stages' work"
        )
    for name, seconds in step.parts.items():
        if seconds > 0:
            yield f"{name.replace('_', ' ')}: {show_duration(seconds)}: {_PARTS.get(name, '')}"
    yield (
        f"sum: {show_duration(step.seconds)}; 80 % interval "
        f"{show_span(show_duration, step.low, step.high, like=step.seconds)} from published runs"
    )
    unit = "samples" if traced else "tokens"
    rate = show_rate(made.tokens_per_step / step.seconds, unit)
    yield f"{show_count(made.tokens_per_step, unit)} / {show_duration(step.seconds)} = {rate}"


def _first(value: Any) -> float:
    return float(np.ravel(value)[0])


def _at(value: Any, kind: int) -> float:
    """The value for one kind of layer; values that all kinds share have one row."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim < 2:
        return float(np.ravel(array)[0])
    return float(array[kind if array.shape[0] > 1 else 0, 0])


def _finite(value: Any) -> float | None:
    number = _first(value)
    return number if np.isfinite(number) else None


def _flops(value: float) -> str:
    return show_flops(value, per_second=True)


def _work(value: float) -> str:
    return show_flops(value)
