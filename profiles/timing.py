"""True time of a kernel: synchronised, warmed up, repeated until the median is narrow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from profiles.statistics import iqr, median, relative_width

Mode = Literal["cold", "steady"]
Call = Callable[[], Any]

NOISY = 0.10  # IQR over median from which a result is warned about
UNRELIABLE = 0.25  # ... and from which it is marked
DRIFT = 0.05  # change between the first and the last third of the samples
STABLE = 0.05  # two warm-up windows this close are stable
COLD_MOST = 40  # samples of a cold kernel: flushing before each takes longer than the kernel
LAUNCH_SHARE = 0.9  # host time over device time from which the host sets the pace


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One timed region."""

    seconds: float  # until the device was done
    host_seconds: float  # until the host was free again: what an unsynchronised clock shows


class Clock(Protocol):
    """What timing needs of a device."""

    asynchronous: bool

    def region(self, call: Call, repeats: int) -> Region:
        """Run `call` `repeats` times between two synchronised readings."""

    def flush(self) -> None:
        """Evict the last-level cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long and how carefully to measure."""

    seconds: float = 1.0  # of all samples together
    warmup_seconds: float = 0.025  # at least
    warmup_most_seconds: float = 1.0  # at most, unless one call is longer
    sample_seconds: float = 1e-3  # a shorter call is repeated within a sample
    samples: int = 5  # at least, where time allows
    samples_most: int = 200
    width: float = 0.02  # relative half width of the median's interval that is narrow enough

    def __post_init__(self) -> None:
        assert self.seconds > 0
        assert 0 <= self.warmup_seconds <= self.warmup_most_seconds
        assert 1 <= self.samples <= self.samples_most


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Times of one kernel."""

    samples_s: tuple[float, ...]  # seconds a call, one per sample
    unsynchronised_s: float  # seconds a call until the host was free, median
    calls: int  # in one sample
    warmup_s: float  # seconds spent warming up
    mode: Mode
    flags: tuple[str, ...] = field(default=())

    @property
    def median_s(self) -> float:
        return median(self.samples_s)

    @property
    def iqr_s(self) -> float:
        return iqr(self.samples_s)

    @property
    def n(self) -> int:
        return len(self.samples_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Warm:
    seconds: float  # of one call once warm
    spent: float
    stable: bool


def time_kernel(
    call: Call, clock: Clock, *, limits: Limits | None = None, mode: Mode = "steady"
) -> Timing:
    """Time `call` on `clock`.

    Steady: calls follow each other, caches as they are. Cold: the last-level cache is flushed
    before each call, outside the timed region. The first call (which may compile or load) is never
    a sample. Where the second is longer than the whole limit too, it is the only sample.
    """
    limits = limits or Limits()
    first = clock.region(call, 1)
    if first.seconds >= limits.seconds:
        second = clock.region(call, 1)
        if second.seconds >= limits.seconds:
            return _single(first, second, mode)
        first = second
    warm = _warm_up(call, clock, limits, first.seconds)
    calls = 1 if mode == "cold" else max(1, math.ceil(limits.sample_seconds / warm.seconds))
    regions = _sampled(call, clock, limits, calls, mode)
    samples = tuple(each.seconds / calls for each in regions)
    hosts = [each.host_seconds / calls for each in regions]
    return Timing(
        samples_s=samples,
        unsynchronised_s=median(hosts),
        calls=calls,
        warmup_s=warm.spent,
        mode=mode,
        flags=_flags(samples, hosts, warm, clock),
    )


def _single(first: Region, second: Region, mode: Mode) -> Timing:
    return Timing(
        samples_s=(second.seconds,),
        unsynchronised_s=second.host_seconds,
        calls=1,
        warmup_s=first.seconds,
        mode=mode,
        flags=("single-sample",),
    )


def _warm_up(call: Call, clock: Clock, limits: Limits, first: float) -> _Warm:
    """Windows of growing length until two in a row agree and the least time has passed."""
    spent, before, calls = first, first, 1
    while True:
        seconds = clock.region(call, calls).seconds
        spent += seconds
        each = max(seconds / calls, 1e-9)
        stable = abs(each - before) <= STABLE * before
        enough = spent >= limits.warmup_seconds
        if (stable and enough) or spent + seconds > limits.warmup_most_seconds:
            return _Warm(seconds=each, spent=spent, stable=stable)
        before = each
        calls = max(1, min(2 * calls, math.ceil(limits.warmup_seconds / 2 / each)))


def _sampled(call: Call, clock: Clock, limits: Limits, calls: int, mode: Mode) -> list[Region]:
    regions: list[Region] = []
    spent = 0.0
    most = min(limits.samples_most, COLD_MOST) if mode == "cold" else limits.samples_most
    while len(regions) < most:
        if mode == "cold":
            clock.flush()
        region = clock.region(call, calls)
        regions.append(region)
        spent += region.seconds
        if spent + region.seconds > limits.seconds:
            break
        times = [each.seconds for each in regions]
        if len(regions) >= limits.samples and relative_width(times) <= limits.width:
            break
    return regions


def _flags(
    samples: tuple[float, ...], hosts: list[float], warm: _Warm, clock: Clock
) -> tuple[str, ...]:
    flags = []
    spread = iqr(samples) / median(samples)
    if spread >= UNRELIABLE:
        flags.append("unreliable")
    elif spread >= NOISY:
        flags.append("noisy")
    if len(samples) == 1:
        flags.append("single-sample")
    if not warm.stable:
        flags.append("warm-up-unstable")
    if _drift(samples) > DRIFT:
        flags.append("drift")
    if clock.asynchronous and median(hosts) >= LAUNCH_SHARE * median(samples):
        flags.append("launch-bound")
    return tuple(flags)


def _drift(samples: tuple[float, ...]) -> float:
    """Relative slow-down from the first third of the samples to the last."""
    third = len(samples) // 3
    if third < 3:
        return 0.0
    return median(samples[-third:]) / median(samples[:third]) - 1
