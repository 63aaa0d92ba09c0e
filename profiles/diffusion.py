"""How a speed-up grows with size: a diffusion stencil, NumPy against torch on the device."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from profiles.device import Device
from profiles.statistics import median
from profiles.timing import Limits, Region, Timing, time_kernel

SIDES = (512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288)
ALPHA = 0.1  # diffusion number, stable below 1/4
SATURATED = 0.9  # of the best rate over all sizes
_ARRAYS = 4  # of the grid's size that one step holds, in either library
_STEPS = 10  # after which both libraries' grids are compared
_HEAD = 0.8  # of the free memory that a grid may take


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One grid of `side`² cells, FP32; seconds a time step."""

    side: int
    numpy_s: float
    torch_s: float
    unsynchronised_s: float  # the wrong way: the clock is read before the device is done
    difference: float  # largest between the libraries after ten steps

    @property
    def speedup(self) -> float:
        return self.numpy_s / self.torch_s

    @property
    def wrong_speedup(self) -> float:
        """What one would report without synchronising."""
        return self.numpy_s / self.unsynchronised_s

    @property
    def cells_per_second(self) -> float:
        return self.side**2 / self.torch_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """The stencil over sizes."""

    device: str
    threads: int  # of the host that torch used; NumPy uses one
    rows: tuple[Row, ...]
    left_out: tuple[tuple[int, str], ...]  # side, reason

    @property
    def saturated_side(self) -> int | None:
        """Smallest side that reaches 90 % of the best rate; None where the rate still grows.

        A CPU is saturated from the smallest grid on, and slower once the grid leaves its caches.
        """
        rates = [row.cells_per_second for row in self.rows]
        if len(rates) < 3:
            return None
        best = max(rates)
        first = next(i for i, rate in enumerate(rates) if rate >= SATURATED * best)
        return None if first == len(rates) - 1 else self.rows[first].side


def numpy_step(u: Any, out: Any) -> None:
    """One explicit step of ∂u/∂t = α∇²u on the inner cells of `u`, into `out`; edges stay."""
    inner = u[1:-1, 1:-1]
    total = u[:-2, 1:-1] + u[2:, 1:-1]
    total += u[1:-1, :-2]
    total += u[1:-1, 2:]
    total -= 4 * inner
    total *= ALPHA
    out[1:-1, 1:-1] = inner + total


def diffusion_study(
    device: Device,
    *,
    sides: tuple[int, ...] = SIDES,
    seconds: float = 60.0,
    report: Callable[[int], None] = lambda side: None,
) -> Study:
    """Time the stencil on every side that memory and `seconds` allow, small before large."""
    rows: list[Row] = []
    left_out: list[tuple[int, str]] = []
    started = time.monotonic()
    costs = [0.0]  # s that the sides measured so far took
    for side in sides:
        left = seconds - (time.monotonic() - started)
        growth = (side / rows[-1].side) ** 2 if rows else 1.0
        reason = _no_memory(device, side)
        if reason is None and costs[-1] * growth > left:
            reason = f"would pass the limit of {seconds:.0f} s"
        if reason is not None:
            left_out.append((side, reason))
            continue
        report(side)
        began = time.monotonic()
        rows.append(_row(device, side, _limits(seconds)))
        costs.append(time.monotonic() - began)
        device.release()
    return Study(
        device=device.name,
        threads=int(device.torch.get_num_threads()),
        rows=tuple(rows),
        left_out=tuple(left_out),
    )


def _limits(seconds: float) -> Limits:
    """A side's two timings take a fortieth of the whole each, unless one step is longer."""
    each = max(0.05, seconds / 40)
    return Limits(seconds=each, warmup_most_seconds=each / 2 + 0.025, samples=3, samples_most=50)


def _no_memory(device: Device, side: int) -> str | None:
    needed = _ARRAYS * 4 * side**2
    free = device.free_bytes
    if free is not None and needed > _HEAD * free:
        return f"needs {needed / 2**30:.1f} GiB, {free / 2**30:.1f} are free"
    return None


def _row(device: Device, side: int, limits: Limits) -> Row:
    grid = np.random.default_rng(side).standard_normal((side, side), dtype=np.float32)
    timing, there = _on_device(device, grid, limits)
    here, numpy_s = _on_host(grid, limits)
    return Row(
        side=side,
        numpy_s=numpy_s,
        torch_s=timing.median_s,
        unsynchronised_s=timing.unsynchronised_s,
        difference=float(np.abs(here - there).max()),
    )


def _on_device(device: Device, grid: Any, limits: Limits) -> tuple[Timing, Any]:
    u = device.torch.from_numpy(grid.copy()).to(device.label)
    out = u.clone()
    a, b = u.clone(), out.clone()
    for _ in range(_STEPS):
        torch_step(a, b)
        a, b = b, a
    after = a.cpu().numpy()
    del a, b
    return time_kernel(lambda: torch_step(u, out), device, limits=limits), after


torch_step = numpy_step  # the same slices mean the same in both libraries


def _on_host(grid: Any, limits: Limits) -> tuple[Any, float]:
    u, out = grid.copy(), grid.copy()
    for _ in range(_STEPS):
        numpy_step(u, out)
        u, out = out, u
    clock = _HostClock()
    timing = time_kernel(lambda: numpy_step(u, out), clock, limits=limits)
    return u, median(timing.samples_s)


class _HostClock:
    """NumPy runs on the host and returns when it is done."""

    asynchronous = False

    def region(self, call: Callable[[], Any], repeats: int) -> Region:
        start = time.perf_counter_ns()
        for _ in range(repeats):
            call()
        seconds = (time.perf_counter_ns() - start) / 1e9
        return Region(seconds=seconds, host_seconds=seconds)

    def flush(self) -> None:
        """Not needed: only steady times are taken."""
