"""Times of the stacks of layers, interleaved, as multiples of one plain operation."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from benchmarks.host_overhead import reference
from benchmarks.host_overhead.style import Style, Tower

SHORT, LONG = 1, 7  # layers; the difference leaves out what a stack costs once
IN_A_ROW = 2  # passes of one stack
QUANTILE = 0.25  # of the rounds: of 0, 0.1, 0.25 and 0.5 the one that repeats best
OPERATION = "operation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Host time of one layer, in operations of the reference."""

    forward: float
    backward: float
    recompute: float | None  # what full recomputation adds to both passes


@dataclass(frozen=True, slots=True, kw_only=True)
class Towers:
    """The stacks of one style that a round times."""

    plain: tuple[Tower, Tower]  # SHORT and LONG layers
    recomputed: tuple[Tower, Tower] | None


@contextmanager
def quiet() -> Iterator[None]:
    """No garbage collection inside a measurement; what exists is left out of later ones."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def towers(style: Style) -> Towers:
    """Builds the stacks of a style and runs each a few times, so that nothing is cold."""
    made = Towers(
        plain=(style.build(SHORT, False), style.build(LONG, False)),
        recomputed=(style.build(SHORT, True), style.build(LONG, True))
        if style.recomputes
        else None,
    )
    for tower in (*made.plain, *(made.recomputed or ())):
        for _ in range(3):
            once(tower)
    return made


def once(tower: Tower) -> tuple[float, float]:
    """Seconds of this thread for one forward and one backward pass.

    The thread's own processor time: work of other processes, and of threads that stand in for a
    device, does not count.
    """
    for parameter in tower.parameters:
        parameter.grad = None
    start = time.thread_time()
    out = tower.forward()
    middle = time.thread_time()
    out.backward(out.detach())
    return middle - start, time.thread_time() - middle


def repeated(tower: Tower) -> tuple[float, float]:
    """The best of some passes in a row: code and data are then as warm as in a long stack."""
    times = [once(tower) for _ in range(IN_A_ROW)]
    return min(each[0] for each in times), min(each[1] for each in times)


def one_round(built: dict[str, Towers], unit: Tower) -> dict[str, list[tuple[float, float]]]:
    """Every stack once, and the reference beside each style: seconds by name."""
    rows: dict[str, list[tuple[float, float]]] = {}
    units = []
    for name, each in built.items():
        units.append(repeated(unit))
        rows[name] = [repeated(tower) for tower in (*each.plain, *(each.recomputed or ()))]
        gc.collect()  # of the cycles that the passes left
    middle = np.median(units, axis=0) / (LONG * reference.OPERATIONS)
    return {OPERATION: [(float(middle[0]), float(middle[1]))], **rows}


def run(built: dict[str, Towers], rounds: int) -> dict[str, np.ndarray]:
    """Seconds by name, one row per stack, forward and backward.

    A low quantile over the rounds: what others do on the machine only ever adds time.
    """
    unit = reference.build(LONG)
    repeated(unit)
    with quiet():
        taken = [one_round(built, unit) for _ in range(rounds)]
    return {name: np.quantile([row[name] for row in taken], QUANTILE, axis=0) for name in taken[0]}


def cost(seconds: np.ndarray, operation: float) -> Cost:
    """Seconds of a style's stacks as operations of one layer."""
    layer = np.diff(seconds, axis=0)[::2] / (LONG - SHORT) / operation
    extra = float(layer[1].sum() - layer[0].sum()) if len(layer) == 2 else None
    return Cost(forward=float(layer[0, 0]), backward=float(layer[0, 1]), recompute=extra)
