"""Measure whole training steps: time and its parts, peak memory, compilation, energy."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from profiles.device import Device, open_device
from profiles.energy import SHORTEST, measure_energy
from profiles.errors import ProfileError
from profiles.formats import switched_on
from profiles.gauge import Gauge
from profiles.gauges import gauge_of
from profiles.live_memory import peak_of
from profiles.machine import cpu_times, others_share
from profiles.run_kernel import SHARED
from profiles.statistics import iqr, median
from profiles.timing import NOISY, UNRELIABLE
from profiles.trace import TraceEstimate, steady_step
from profiles.training import TrainingStep

_PHASED = 5  # steps timed phase by phase
_EAGER_PEAK = (
    "peak memory is the eager step's: compiled code runs eagerly while tensors are counted"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """Median seconds of the parts, synchronised between them."""

    forward_s: float
    backward_s: float
    update_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMeasurement:
    """What steps of a real training loop took. None = not known."""

    step_s: float  # median of the steady steps
    low_s: float
    high_s: float
    iqr_s: float
    n: int  # steady steps
    warmup_steps: int
    trace_s: tuple[float, ...]  # every step, the first included
    unsynchronised_s: float  # median until the host was free
    phases: Phases | None  # None for a loop given as one function
    peak_bytes: int
    reserved_bytes: int | None
    memory_method: str
    compile_s: float | None  # first step beyond a steady one; None where nothing was compiled
    recompiles: int | None  # graphs compiled after the first step
    energy_j: float | None  # a step, of the steps that were timed
    flags: tuple[str, ...]


def measure_step(
    step: Callable[[], Any],
    *,
    device: str | Device | None = None,
    steps: int = 10,
    seconds: float = 30.0,
    precision: str = "fp32",
) -> StepMeasurement:
    """Measure `step`, a function that runs one whole optimizer step of your training loop.

    It is run until `steps` steady ones are timed or `seconds` have passed, at least three times;
    each is synchronised, warm-up is dropped. A `TrainingStep` is also timed by phase. `precision`
    only matters for tf32, which is switched on for the measurement.

    >>> from profiles import measure_step
    >>> measure_step(lambda: sum(range(1000)), device="cpu", steps=5, seconds=0.5).warmup_steps < 5
    True
    """
    if steps < 3:
        raise ProfileError("steps", steps, "at least 3")
    place = device if isinstance(device, Device) else open_device(device)
    gauge = gauge_of(place)
    try:
        with switched_on(place, "tf32" if precision == "tf32" else "fp32"):
            return _measured(step, place, gauge, steps, seconds)
    finally:
        gauge.close()


def _measured(
    step: Callable[[], Any], device: Device, gauge: Gauge, steps: int, seconds: float
) -> StepMeasurement:
    compiled = _Compilations()
    load, state = cpu_times(), gauge.state()
    trace, hosts = _traced(step, device, steps, seconds, compiled)
    others = others_share(load, cpu_times())
    found = steady_step(trace, later_drift=_seen_drift(trace), state_recorded=gauge.present)
    steady = trace[found.warmup_steps :]
    peak = peak_of(step, device)
    return StepMeasurement(
        step_s=found.step_s,
        low_s=found.low_s,
        high_s=found.high_s,
        iqr_s=iqr(steady),
        n=len(steady),
        warmup_steps=found.warmup_steps,
        trace_s=tuple(trace),
        unsynchronised_s=median(hosts[found.warmup_steps :]),
        phases=_phases(step, device) if isinstance(step, TrainingStep) else None,
        peak_bytes=peak.allocated_bytes,
        reserved_bytes=peak.reserved_bytes,
        memory_method=peak.method,
        compile_s=trace[0] - found.step_s if compiled.any else None,
        recompiles=compiled.later if compiled.any else None,
        energy_j=_energy(step, device, gauge, found, seconds),
        flags=(
            *_flags(found, steady, others, state.throttle or gauge.state().throttle),
            *([_EAGER_PEAK] if compiled.any and peak.reserved_bytes is None else []),
        ),
    )


def _traced(
    step: Callable[[], Any],
    device: Device,
    steps: int,
    seconds: float,
    compiled: _Compilations,
) -> tuple[list[float], list[float]]:
    trace: list[float] = []
    hosts: list[float] = []
    started = time.monotonic()
    while True:
        region = device.region(step, 1)
        trace.append(region.seconds)
        hosts.append(region.host_seconds)
        if len(trace) == 1:
            compiled.first_done()
        enough = len(trace) >= 3 and len(trace) - steady_step(trace).warmup_steps >= steps
        late = len(trace) >= 3 and time.monotonic() - started > seconds
        if enough or late:
            return trace, hosts


def _seen_drift(trace: list[float]) -> float | None:
    """Slow-down within the trace where it is long enough to show one."""
    return None if len(trace) < 30 else max(0.0, median(trace[-10:]) / median(trace[10:20]) - 1)


class _Compilations:
    """How many graphs torch.compile made, before and after the first step."""

    def __init__(self) -> None:
        self._start = self._count()
        self._first = self._start

    def first_done(self) -> None:
        self._first = self._count()

    @property
    def any(self) -> bool:
        return self._count() > self._start

    @property
    def later(self) -> int:
        return self._count() - self._first

    @staticmethod
    def _count() -> int:
        import sys

        module = sys.modules.get("torch._dynamo.utils")  # absent until something is compiled
        return int(module.counters["stats"]["unique_graphs"]) if module else 0


def _phases(step: TrainingStep, device: Device) -> Phases:
    rows: list[tuple[float, float, float]] = []
    losses: list[Any] = []

    def forward() -> None:
        losses.append(step.forward())

    def backward() -> None:
        step.backward(losses.pop())

    for _ in range(_PHASED):
        first, second, third = (
            device.region(each, 1).seconds for each in (forward, backward, step.update)
        )
        rows.append((first, second, third))
    medians = [median(each) for each in zip(*rows, strict=True)]
    return Phases(forward_s=medians[0], backward_s=medians[1], update_s=medians[2])


def _energy(
    step: Callable[[], Any], device: Device, gauge: Gauge, found: TraceEstimate, seconds: float
) -> float | None:
    """Joules a step over a window of five seconds, where the device says any."""
    if gauge.energy_joules() is None and gauge.power_watts() is None:
        return None
    calls = max(1, round(min(5.5, seconds) / found.step_s))

    def work() -> None:
        for _ in range(calls):
            step()

    if calls * found.step_s < SHORTEST:
        return None
    with suppress(ProfileError):  # shorter than it was estimated
        joules = measure_energy(work, gauge, device.synchronise).joules
        return None if joules is None else joules / calls
    return None


def _flags(
    found: TraceEstimate,
    steady: list[float],
    others: float | None,
    throttle: tuple[str, ...] | None,
) -> tuple[str, ...]:
    flags = list(found.flags)
    spread = iqr(steady) / found.step_s
    if spread >= NOISY:
        flags.append("unreliable" if spread >= UNRELIABLE else "noisy")
    if others is not None and others > SHARED:
        flags.append("device-shared")
    if throttle:
        flags.append("throttled")
    return tuple(flags)
