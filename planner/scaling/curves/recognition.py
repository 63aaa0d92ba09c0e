"""Which schedule a run follows: from the rates in its log, or from what its owner says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.errors import PlannerError
from planner.scaling.curves.schedule import FINAL_RATIO, SETTLED_SHARE, Floats, Schedule
from planner.scaling.curves.schedule import named_schedule as _named
from planner.scaling.logs.training_log import Series

_COMPLETE = 0.98  # of the planned steps: nothing is left to guess
_ENDED = 0.03  # of the peak rate: a decay that deep ends with the run
_AT_PEAK = 0.99
_LARGEST_MISFIT = 0.01  # of the peak rate, root mean square
_MOST_NODES = 600
_LONGEST_WARMUP = 0.25  # of the steps seen: a log that begins later shows no warm-up


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSchedule:
    """A schedule, how it is known, and what had to be assumed."""

    schedule: Schedule
    source: str  # logged, logged and extended, or stated
    assumptions: tuple[str, ...] = ()


def schedule_of(
    rates: Series | None,
    *,
    last_step: float,
    total_steps: float | None,
    kind: str | None = None,
    warmup_steps: float = 0.0,
    final_ratio: float | None = None,
    decay_share: float = SETTLED_SHARE,
) -> KnownSchedule | None:
    """The schedule over the whole planned run; None where neither log nor owner tells it."""
    if total_steps is not None and total_steps < last_step * _COMPLETE:
        raise PlannerError(
            "total-steps", total_steps, f"the log already reaches step {last_step:g}"
        )
    if rates is not None and len(rates) >= 3 and rates.values.max() > 0:
        seen = _seen(rates, last_step)
        return _extended(seen, total_steps, kind, final_ratio, decay_share)
    if kind is None or (total_steps is None and kind != "constant"):
        return None
    schedule = _named(
        kind,
        max(total_steps or last_step, last_step),
        warmup_steps=warmup_steps,
        final_ratio=final_ratio,
        decay_share=decay_share,
    )
    return KnownSchedule(
        schedule=schedule, source="stated", assumptions=_customs(kind, final_ratio, decay_share)
    )


def _customs(kind: str, final_ratio: float | None, decay_share: float) -> tuple[str, ...]:
    told = []
    if final_ratio is None and kind != "constant":
        told.append(f"the rate ends at {FINAL_RATIO[kind]:g} of its peak")
    if kind == "wsd":
        told.append(f"the decay takes the last {decay_share:.0%} of the run")
    return tuple(told)


def _seen(rates: Series, last_step: float) -> Schedule:
    """What the log shows; before its first reading a straight warm-up is assumed, or, in a log that
    begins in the middle of a run, the rate it begins with."""
    steps, values = rates.steps, rates.values / rates.values.max()
    chosen = np.unique(np.linspace(0, len(steps) - 1, _MOST_NODES).astype(int))
    steps, values = steps[chosen], np.clip(values[chosen], 0.0, 1.0)
    if steps[0] > _LONGEST_WARMUP * last_step:
        steps, values = np.append(0.0, steps), np.append(values[0], values)
    elif steps[0] > 0:
        ramp = np.linspace(0.0, steps[0], 17)[:-1]
        steps = np.concatenate((ramp, steps))
        values = np.concatenate((np.linspace(0.0, values[0], 17)[:-1], values))
    if last_step > steps[-1]:
        steps, values = np.append(steps, last_step), np.append(values, values[-1])
    return Schedule(kind="logged", steps=steps, rates=values)


def _extended(
    seen: Schedule,
    total_steps: float | None,
    kind: str | None,
    final_ratio: float | None,
    decay_share: float,
) -> KnownSchedule | None:
    end = seen.total_steps
    if total_steps is None and seen.rates[-1] <= _ENDED:
        total_steps = end
    if total_steps is None:
        return None
    if end >= _COMPLETE * total_steps:
        return KnownSchedule(schedule=seen, source="logged")
    if kind == "constant" or (kind is None and _is_flat(seen)):
        told = () if kind else ("the rate stays constant to the end (say --schedule wsd if not)",)
        return KnownSchedule(
            schedule=seen.then(total_steps, float(seen.rates[-1])),
            source="logged and extended",
            assumptions=told,
        )
    if kind == "wsd" and seen.rates[-1] > _AT_PEAK:
        begin = max(end, total_steps * (1.0 - decay_share))
        held = seen.then(begin, float(seen.rates[-1])) if begin > end else seen
        final = FINAL_RATIO["wsd"] if final_ratio is None else final_ratio
        return KnownSchedule(
            schedule=held.then(total_steps, final),
            source="logged and extended",
            assumptions=_customs("wsd", final_ratio, decay_share),
        )
    return _continued(seen, total_steps, kind, final_ratio)


def _is_flat(seen: Schedule) -> bool:
    """No change of the rate since it first reached its present value, in the last half or more."""
    half = seen.rates[seen.steps >= 0.5 * seen.total_steps]
    return bool(np.ptp(half) < 1e-3)


def _continued(
    seen: Schedule, total_steps: float, kind: str | None, final_ratio: float | None
) -> KnownSchedule | None:
    """Follow the decay that has begun to its end, by the shape that fits it."""
    peak = int(np.flatnonzero(seen.rates >= _AT_PEAK * seen.rates.max())[-1])
    first = int(np.argmax(seen.rates >= 1.0 - 1e-6))
    best: tuple[float, str, Schedule] | None = None
    for name in ("cosine", "linear", "wsd"):
        if kind not in (None, name):
            continue
        begin = seen.steps[peak] if name == "wsd" else seen.steps[first]
        shape = "linear" if name == "wsd" else name
        later = seen.steps >= begin
        misfit, final = _fitted_final(
            shape, seen.steps[later], seen.rates[later], begin, total_steps, final_ratio
        )
        path = _joined(seen, shape, begin, total_steps, final)
        if best is None or misfit < best[0]:
            best = (misfit, name, path)
    if best is None or best[0] > _LARGEST_MISFIT:
        return None
    told = (f"the decay goes on as a {best[1]} to step {total_steps:g}",)
    return KnownSchedule(schedule=best[2], source="logged and extended", assumptions=told)


def _share(shape: str, done: Floats) -> Floats:
    """How much of the way from peak to final rate is still to go."""
    if shape == "cosine":
        return np.asarray(0.5 * (1.0 + np.cos(np.pi * done)))
    return 1.0 - done


def _fitted_final(
    shape: str,
    steps: Floats,
    rates: Floats,
    begin: float,
    total_steps: float,
    final_ratio: float | None,
) -> tuple[float, float]:
    """Root-mean-square misfit and final ratio, which enters linearly."""
    left = _share(shape, (steps - begin) / (total_steps - begin))
    gone = 1.0 - left
    if final_ratio is None:
        power = float(gone @ gone)
        final = float(np.clip((rates - left) @ gone / power, 0.0, 1.0)) if power > 0 else 0.0
    else:
        final = final_ratio
    misfit = rates - (final * gone + left)
    return float(np.sqrt(np.mean(misfit**2))), final


def _joined(seen: Schedule, shape: str, begin: float, total_steps: float, final: float) -> Schedule:
    ahead = np.linspace(seen.total_steps, total_steps, 257)[1:]
    left = _share(shape, (ahead - begin) / (total_steps - begin))
    return Schedule(
        kind=shape,
        steps=np.concatenate((seen.steps, ahead)),
        rates=np.concatenate((seen.rates, final + (1.0 - final) * left)),
    )
