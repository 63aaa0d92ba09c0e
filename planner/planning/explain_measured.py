"""A step that rests on a profile, with its numbers: rates, and which product answered how."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from planner.engine.formats import ATTENTION
from planner.engine.operations import Product, head_product, layer_products
from planner.planning.choose import as_computed
from planner.planning.measured import reasons_of
from planner.planning.outline import Outline
from planner.profile_device.products import ProductCurve
from planner.quantities import show_duration, show_flops, show_rate


def profile_lines(bones: Outline) -> Iterator[str]:
    """What was measured, the best rates, and how far the profile errs."""
    made = bones.measured
    assert made is not None
    figures, number_format = made.device.figures, ATTENTION[bones.configuration.precision]
    peak = show_flops(figures.product(number_format).peak, per_second=True)
    yield f"fastest {number_format} product of the profile: {peak}; no product is faster"
    copied = "not measured" if figures.bandwidth is None else show_rate(figures.bandwidth, "B")
    launch = figures.launch_seconds
    started = "not measured" if launch is None else show_duration(launch)
    yield f"largest copy: {copied}, read and written; smallest operation: {started}"
    yield from reasons_of(bones.scenario, made)


def product_lines(bones: Outline) -> Iterator[str]:
    """Each matrix product of each kind of layer, forward: work, seconds, how it was answered."""
    made = bones.measured
    assert made is not None
    curve = made.device.figures.product(ATTENTION[bones.configuration.precision])
    batch = as_computed(bones.batch, bones.scenario.lengths)
    counts = np.atleast_1d(batch.shape.blocks.count)
    for kind in range(len(counts)):
        yield f"{int(_at(counts, kind))} layers of kind {kind + 1}:"
        for product in layer_products(batch):
            if _at(product.flops, kind) > 0:
                yield _line(product, kind, curve)
    head = head_product(batch)
    if _at(head.flops, 0) > 0:
        yield "output layer:"
        yield _line(head, 0, curve)


def _line(product: Product, kind: int, curve: ProductCurve) -> str:
    m, n, k = (_at(value, kind) for value in (product.m, product.n, product.k))
    groups, flops = _at(product.groups, kind), _at(product.flops, kind)
    seconds = float(curve.seconds(m, n, k)) * groups
    how = "measured" if bool(curve.measured(m, n, k)) else "by the curve"
    many = f"{groups:g} x " if groups != 1 else ""
    return (
        f"  {product.name}: {many}2·m·n·k = 2·{m:,.0f}·{n:,.0f}·{k:,.0f} = {show_flops(flops)} in "
        f"{show_duration(seconds)}, {show_flops(flops / seconds, per_second=True)}, {how}"
    )


def _at(value: Any, kind: int) -> float:
    """The value for one kind of layer; values that all kinds share have one row."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim < 2:
        return float(np.ravel(array)[0])
    return float(array[kind if array.shape[0] > 1 else 0, 0])
