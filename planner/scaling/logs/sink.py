"""Where the readers put what they find; becomes a `TrainingLog` at the end."""

from __future__ import annotations

import numpy as np

from planner.errors import PlannerError
from planner.scaling.logs.clock import Clock
from planner.scaling.logs.mixture import assert_one_metric
from planner.scaling.logs.segments import merge_run_columns
from planner.scaling.logs.track import Floats, Track
from planner.scaling.logs.training_log import Series, TrainingLog

_MOST_METRICS = 400  # more columns than that are ignored and counted
_MOST_RESTARTS = 1000
_MIXTURE_SAMPLE = 4096  # first points of a metric that are searched for a second one


class Sink:
    """Collects quantities by kind, in constant memory.

    Kinds: metric, elapsed (timer or clock, seconds), per-step (seconds per step), lr, tokens,
    tokens-per-step, total (planned steps). Times carry the name of the metric that they belong to,
    or "" where one clock serves all.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.axis = "step"
        self.total_steps: float | None = None
        self.bytes_read = 0
        self.notes: list[str] = []
        self._metrics: dict[str, Track] = {}
        self._samples: dict[str, tuple[Floats, Floats]] = {}
        self._ignored_metrics: set[str] = set()
        self._clocks: dict[str, tuple[str, Clock]] = {}
        self._counters: dict[str, Track] = {}
        self._lines = 0
        self._lines_used = 0
        self._unreadable = 0

    def add(self, kind: str, name: str, steps: Floats, values: Floats) -> None:
        """A block of points of one quantity, in the order of the log."""
        known = np.isfinite(steps)
        steps, values = steps[known], values[known]
        if len(steps) == 0:
            return
        if kind == "metric":
            self._add_metric(name, steps, values)
        elif kind in ("elapsed", "per-step"):
            self._add_time(kind, name, steps, values)
        elif kind == "total":
            self._add_total(values)
        else:
            self._counters.setdefault(kind, Track(keep="last")).append(steps, values)

    def count_lines(self, lines: int, used: int) -> None:
        self._lines += lines
        self._lines_used += used

    def count_unreadable(self, number: int) -> None:
        """Places where a value was expected and none could be read."""
        self._unreadable += number

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def finish(self, format_name: str) -> TrainingLog:
        """The log, checked; raises `PlannerError` when there is nothing to judge."""
        metrics = {name: series_of(name, track) for name, track in self._metrics.items()}
        metrics = {name: series for name, series in metrics.items() if series.num_points}
        self._refuse_empty(metrics, format_name)
        for name, (steps, values) in self._samples.items():
            assert_one_metric(self.path, name, steps, values)
        self._refuse_unsorted()
        metrics, merged = merge_run_columns(metrics)
        self.notes.extend(merged)
        self._report_repairs()
        tokens = self._tokens()
        return TrainingLog(
            format=format_name,
            axis=self.axis,
            metrics=metrics,
            clocks=self._finished_clocks(),
            learning_rate=_optional("learning rate", self._counters.get("lr")),
            tokens=tokens,
            total_steps=self.total_steps,
            bytes_read=self.bytes_read,
            notes=tuple(self.notes),
        )

    def _add_metric(self, name: str, steps: Floats, values: Floats) -> None:
        if name not in self._metrics:
            if len(self._metrics) >= _MOST_METRICS:
                self._ignored_metrics.add(name)
                return
            self._metrics[name] = Track()
            self._samples[name] = (np.empty(0), np.empty(0))
        held_steps, held = self._samples[name]
        if len(held) < _MIXTURE_SAMPLE:
            more = _MIXTURE_SAMPLE - len(held)
            self._samples[name] = (
                np.append(held_steps, steps[:more]),
                np.append(held, values[:more]),
            )
        track = self._metrics[name]
        track.append(steps, values)
        if track.num_backward > _MOST_RESTARTS:
            self._refuse_unsorted()

    def _add_time(self, kind: str, name: str, steps: Floats, values: Floats) -> None:
        held, clock = self._clocks.setdefault(name, (kind, Clock()))
        if kind != held:
            return  # a log that tells both: the first one found is enough
        add = clock.add_elapsed if kind == "elapsed" else clock.add_per_step
        add(steps, values)

    def _add_total(self, values: Floats) -> None:
        known = values[np.isfinite(values) & (values > 0)]
        if len(known):
            self.total_steps = float(known[-1])

    def _finished_clocks(self) -> dict[str, Series]:
        read = {name: _optional(name, clock.track) for name, (_, clock) in self._clocks.items()}
        return {name: series for name, series in read.items() if series is not None}

    def _tokens(self) -> Series | None:
        per_step = self._counters.get("tokens-per-step")
        if "tokens" in self._counters or per_step is None:
            return _optional("tokens", self._counters.get("tokens"))
        steps, each, weights = per_step.merged()
        if len(steps) == 0 or not (each == each[0]).all():
            return None
        return Series(
            name="tokens",
            steps=steps,
            values=steps * each[0],
            weights=weights,
            num_points=per_step.num_points,
        )

    def _refuse_empty(self, metrics: dict[str, Series], format_name: str) -> None:
        if metrics:
            return
        if any(track.num_nonfinite for track in self._metrics.values()):
            raise PlannerError("log", self.path, "every value of every metric is NaN or infinite")
        raise PlannerError(
            "log",
            self.path,
            f"read as {format_name}, but no step has a number for any metric: write numbers with "
            "digits and one point, as 1990.5 or 1.9e3",
        )

    def _refuse_unsorted(self) -> None:
        for name, track in self._metrics.items():
            allowed = max(1, min(_MOST_RESTARTS, track.num_points // 20))
            if track.num_backward > allowed:
                raise PlannerError(
                    "log",
                    self.path,
                    f"steps of {name} go back {track.num_backward} times in {track.num_points} "
                    "points: sort the rows by step, or give the log of one run only",
                )

    def _report_repairs(self) -> None:
        if self._lines:
            self.notes.append(
                f"{self._lines_used} of {self._lines} lines held training data, "
                f"{self._lines - self._lines_used} ignored"
            )
        for name, track in self._metrics.items():
            if track.num_backward:
                self.notes.append(
                    f"{name}: {track.num_backward} restart(s), {track.num_replaced} overlapping "
                    "points replaced by the later segment"
                )
            if track.num_nonfinite:
                self.notes.append(f"{name}: {track.num_nonfinite} NaN or infinite values left out")
        if self._unreadable:
            self.notes.append(f"{self._unreadable} values could not be read as numbers, left out")
        if self._ignored_metrics:
            self.notes.append(
                f"{len(self._ignored_metrics)} metrics beyond the first {_MOST_METRICS} ignored"
            )
        resets = max((clock.num_resets for _, clock in self._clocks.values()), default=0)
        pauses = max((clock.num_pauses for _, clock in self._clocks.values()), default=0)
        if resets:
            self.notes.append(f"the timer was reset {resets} time(s): summed up")
        if pauses:
            self.notes.append(f"{pauses} pause(s) left out of the training time")


def series_of(name: str, track: Track) -> Series:
    """What a track holds, one point a step."""
    steps, values, weights = track.merged()
    return Series(
        name=name,
        steps=steps,
        values=values,
        weights=weights,
        num_points=track.num_points,
        num_nonfinite=track.num_nonfinite,
        trailing_nonfinite=track.trailing_nonfinite,
    )


def _optional(name: str, track: Track | None) -> Series | None:
    if track is None or track.num_points == 0:
        return None
    return series_of(name, track)
