"""Seconds spent, from the many ways in which logs tell time."""

from __future__ import annotations

import numpy as np

from planner.scaling.logs.track import Floats, Track

_PAUSE_SECONDS = 600.0  # a gap below this is never taken for a pause
_PAUSE_RATIO = 50.0  # times the usual time per step


class Clock:
    """Cumulative training seconds against steps.

    Accepts a timer that runs on (and may reset), wall-clock stamps, or seconds per step. A
    restarted run goes on from the seconds of the step it resumes at; a long pause is left out.
    """

    def __init__(self) -> None:
        self.track = Track(keep="last")
        self.num_resets = 0
        self.num_pauses = 0
        self._raw: float | None = None
        self._step = 0.0
        self._total = 0.0
        self._rate: float | None = None  # usual seconds per step

    def add_elapsed(self, steps: Floats, seconds: Floats) -> None:
        """Readings of a timer or of the wall clock."""
        known = np.isfinite(seconds)
        steps, seconds = steps[known], seconds[known]
        if len(steps) == 0:
            return
        if self._raw is None:
            self._raw, self._step = float(seconds[0]), float(steps[0])
            self._total = self._raw if self._raw < 1e8 else 0.0  # above: a date, not a duration
        spent = np.diff(seconds, prepend=self._raw)
        taken = np.diff(steps, prepend=self._step)
        self._advance(steps, self._repaired(spent, taken, seconds), taken)
        self._raw = float(seconds[-1])

    def add_per_step(self, steps: Floats, seconds_per_step: Floats) -> None:
        """Seconds that each step took, as told every so many steps."""
        known = np.isfinite(seconds_per_step) & (seconds_per_step >= 0)
        steps, each = steps[known], seconds_per_step[known]
        if len(steps) == 0:
            return
        taken = np.diff(steps, prepend=self._step if self._rate is not None else steps[0] - 1)
        self._rate = float(np.median(each))
        self._advance(steps, each * np.maximum(taken, 0.0), taken)

    def _repaired(self, spent: Floats, taken: Floats, seconds: Floats) -> Floats:
        usual = (taken > 0) & (spent >= 0)
        if usual.sum() >= 3:
            self._rate = float(np.median(spent[usual] / taken[usual]))
        reset = (spent < 0) & (taken > 0)
        self.num_resets += int(reset.sum())
        spent = np.where(reset, np.maximum(seconds, 0.0), spent)
        if self._rate is not None:
            expected = self._rate * np.maximum(taken, 1.0)
            pause = (spent > _PAUSE_SECONDS) & (spent > _PAUSE_RATIO * expected) & (taken > 0)
            self.num_pauses += int(pause.sum())
            spent = np.where(pause, self._rate * taken, spent)
        return np.where(taken < 0, 0.0, spent)

    def _advance(self, steps: Floats, spent: Floats, taken: Floats) -> None:
        back = np.flatnonzero(taken < 0)
        for piece in np.split(np.arange(len(steps)), back):
            if len(piece) == 0:
                continue
            if taken[piece[0]] < 0:
                self._resume(float(steps[piece[0]]))
            total = self._total + np.cumsum(spent[piece])
            self.track.append(steps[piece], total)
            self._total, self._step = float(total[-1]), float(steps[piece[-1]])

    def _resume(self, step: float) -> None:
        before = self.track.value_before(step)
        if before is None:
            self._total = 0.0
        else:
            self._total = before[1] + (self._rate or 0.0) * (step - before[0])
