"""Learning-rate schedules as piecewise linear paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.engine.choices import SCHEDULES
from planner.errors import PlannerError, nearest

Floats = NDArray[np.float64]

_NODES = 512  # of a named schedule; a cosine between two of them is straight to 1e-5
SETTLED_SHARE = 0.2  # of the run: the decay of a warm-up-stable-decay run unless stated
FINAL_RATIO = {"cosine": 0.1, "linear": 0.0, "wsd": 0.0, "constant": 1.0}  # of the peak, by custom
_STEEPEST_MEMORY = 1e-3  # of the peak: below it the rate no longer slows the forgetting


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Learning rate over its peak, at nodes; straight lines between them."""

    kind: str  # cosine, linear, wsd, constant, or logged
    steps: Floats  # [n], rising, from 0
    rates: Floats  # [n], from 0 to 1

    def __post_init__(self) -> None:
        assert len(self.steps) == len(self.rates) >= 2
        assert self.steps[0] == 0.0, "a schedule begins at step 0"
        assert (np.diff(self.steps) > 0).all(), "nodes must rise"
        assert 0.0 <= self.rates.min() <= self.rates.max() <= 1.0 + 1e-9, "rates are shares"

    @property
    def total_steps(self) -> float:
        """Steps at which the schedule ends."""
        return float(self.steps[-1])

    def rate(self, steps: Floats | float) -> Floats:
        """Share of the peak rate at `steps`; the ends are held."""
        return np.asarray(np.interp(steps, self.steps, self.rates), dtype=np.float64)

    def area(self, steps: Floats) -> Floats:
        """Sum of the rates up to each step, in steps at the peak rate."""
        before = np.concatenate(([0.0], np.cumsum(self._trapezoids())))
        index = np.clip(np.searchsorted(self.steps, steps, side="right") - 1, 0, len(before) - 1)
        inside = steps - self.steps[index]
        middle = 0.5 * (self.rates[index] + self.rate(steps))
        return np.asarray(before[index] + inside * middle, dtype=np.float64)

    def falls(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Each change of the rate: step, size (a fall is positive), area before it, rate after."""
        sizes = -np.diff(self.rates)
        changed = np.flatnonzero(np.abs(sizes) > 1e-9)
        middle = 0.5 * (self.steps[changed] + self.steps[changed + 1])
        after = np.maximum(self.rates[changed + 1], _STEEPEST_MEMORY)
        return middle, sizes[changed], self.area(middle), after

    def until(self, step: float) -> Schedule:
        """The part up to `step`."""
        kept = self.steps < step
        return Schedule(
            kind=self.kind,
            steps=np.append(self.steps[kept], step),
            rates=np.append(self.rates[kept], self.rate(step)),
        )

    def stretched(self, total_steps: float) -> Schedule:
        """The same shape over another number of steps."""
        factor = total_steps / self.total_steps
        return Schedule(kind=self.kind, steps=self.steps * factor, rates=self.rates)

    def then(self, step: float, rate: float) -> Schedule:
        """A straight line from the end to `rate` at `step`."""
        return Schedule(
            kind=self.kind,
            steps=np.concatenate((self.steps, np.linspace(self.total_steps, step, 33)[1:])),
            rates=np.concatenate((self.rates, np.linspace(self.rates[-1], rate, 33)[1:])),
        )

    def _trapezoids(self) -> Floats:
        return np.diff(self.steps) * 0.5 * (self.rates[1:] + self.rates[:-1])


def named_schedule(
    kind: str,
    total_steps: float,
    *,
    warmup_steps: float = 0.0,
    final_ratio: float | None = None,
    decay_share: float = SETTLED_SHARE,
) -> Schedule:
    """A schedule by name; `final_ratio` (of the peak) is the kind's custom where it is None.

    >>> named_schedule("cosine", 1000, final_ratio=0.1).rate(500.0).round(2).item()
    0.55
    """
    if kind not in SCHEDULES:
        close = ", ".join(nearest(kind, SCHEDULES)) or ", ".join(SCHEDULES)
        raise PlannerError("schedule", kind, f"known: {close}")
    if not total_steps > warmup_steps >= 0:
        raise PlannerError("total-steps", total_steps, f"must exceed warm-up ({warmup_steps:g})")
    final = FINAL_RATIO[kind] if final_ratio is None else final_ratio
    if not 0.0 <= final <= 1.0:
        raise PlannerError("final-ratio", final, "a share of the peak rate, from 0 to 1")
    steps = np.linspace(warmup_steps, total_steps, _NODES)
    rates = _SHAPES[kind]((steps - warmup_steps) / (total_steps - warmup_steps), final, decay_share)
    if warmup_steps > 0:
        steps = np.concatenate((np.linspace(0.0, warmup_steps, 17)[:-1], steps))
        rates = np.concatenate((np.linspace(0.0, 1.0, 17)[:-1], rates))
    return Schedule(kind=kind, steps=steps, rates=rates)


def _cosine(done: Floats, final: float, decay_share: float) -> Floats:
    return np.asarray(final + (1.0 - final) * 0.5 * (1.0 + np.cos(np.pi * done)))


def _linear(done: Floats, final: float, decay_share: float) -> Floats:
    return 1.0 - (1.0 - final) * done


def _wsd(done: Floats, final: float, decay_share: float) -> Floats:
    return 1.0 - (1.0 - final) * np.clip((done - 1.0 + decay_share) / decay_share, 0.0, 1.0)


def _constant(done: Floats, final: float, decay_share: float) -> Floats:
    return np.ones_like(done)


_SHAPES = {"cosine": _cosine, "linear": _linear, "wsd": _wsd, "constant": _constant}
