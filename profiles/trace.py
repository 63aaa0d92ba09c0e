"""Step time out of a trace of steps: warm-up dropped, drift reported as an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from profiles.errors import ProfileError
from profiles.statistics import iqr, median

WARM = 1.25  # a first step this many times slower than the best later one is warm-up
DERATE_MOST = 0.15  # slow-down under sustained load that published cards showed at most


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEstimate:
    """What a trace says about steady steps."""

    step_s: float  # seconds of a steady step
    low_s: float  # interval: spread of the steady steps ...
    high_s: float  # ... widened by the slow-down under sustained load
    warmup_steps: int  # steps dropped from the start
    steady_steps: int
    derate: tuple[float, float]  # slow-down to expect on a long run, as fractions
    flags: tuple[str, ...]


def steady_step(
    step_s: Sequence[float], *, later_drift: float | None = None, state_recorded: bool = False
) -> TraceEstimate:
    """Estimate a steady step from the times of successive steps, seconds each.

    Steps at the start that are slower than 1.25 times the median of the rest are warm-up
    (compilation, allocator, caches). `later_drift` is a slow-down that was seen under sustained
    load; without one, up to 15 % is possible (what published cards showed) unless the trace itself
    is long enough to show its own. Raises ProfileError for a trace that holds no positive time.

    >>> found = steady_step([79.075, 0.607, 0.115, 0.106, 0.100], later_drift=0.05)
    >>> found.warmup_steps, round(found.step_s, 3), round(found.high_s, 3)
    (2, 0.106, 0.119)
    """
    times = _checked(step_s)
    start = _warm_from(times)
    steady = times[start:]
    middle = median(steady)
    derate = _derate(steady, later_drift)
    flags = ["warm-up dropped"] if start else []
    if len(steady) < 5:
        flags.append("few steady steps")
    flags.append(
        "clock/thermal state recorded" if state_recorded else "clock/thermal state unknown"
    )
    flags.append(
        f"steady-state derate {100 * derate[0]:.0f}-{100 * derate[1]:.0f}% in the interval"
    )
    spread = max(iqr(steady) / 2, (max(steady) - min(steady)) / 2 if len(steady) < 5 else 0.0)
    return TraceEstimate(
        step_s=middle,
        low_s=max(min(steady), middle - spread),
        high_s=(middle + spread) * (1 + derate[1]),
        warmup_steps=start,
        steady_steps=len(steady),
        derate=derate,
        flags=tuple(flags),
    )


def _checked(step_s: Sequence[float]) -> list[float]:
    times = [float(each) for each in step_s]
    if not times or not all(math.isfinite(each) and each > 0 for each in times):
        raise ProfileError("trace", step_s, "give the seconds of each step, all above zero")
    return times


def _warm_from(times: Sequence[float]) -> int:
    """Index of the first steady step: none of those before is near the median of what follows."""
    for start in range(len(times) - 1):
        if times[start] <= WARM * median(times[start + 1 :]):
            return start
    return len(times) - 1


def _derate(steady: Sequence[float], later_drift: float | None) -> tuple[float, float]:
    if later_drift is not None:
        if not 0 <= later_drift < 1:
            raise ProfileError("later_drift", later_drift, "a share of the speed, from 0 to 1")
        return 0.0, later_drift
    third = len(steady) // 3
    if third >= 10:
        seen = median(steady[-third:]) / median(steady[:third]) - 1
        return 0.0, max(0.0, seen)
    return 0.0, DERATE_MOST
