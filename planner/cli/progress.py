"""Progress of long work on standard error: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from planner.cli.output import note

_BAR = 24  # characters
_TERMINAL_PAUSE = 0.1  # s between two drawings of the bar
_LINE_PAUSE = 10.0  # s between two lines where the bar cannot be redrawn


class Progress:
    """Counts finished pieces of work and shows how many are left."""

    def __init__(self, label: str, total: int, stream: TextIO) -> None:
        assert total >= 0
        self._label = label
        self._total = total
        self._stream = stream
        self._redraws = stream.isatty()
        self._started = time.monotonic()
        self._shown = self._started
        self._done = 0

    def advance(self, count: int = 1, doing: str = "") -> None:
        """`count` more pieces are finished; `doing` says what is being worked on."""
        self._done += count
        pause = _TERMINAL_PAUSE if self._redraws else _LINE_PAUSE
        now = time.monotonic()
        if now - self._shown >= pause:
            self._shown = now
            self._show(doing)

    def close(self) -> None:
        """Remove the bar, so that what follows starts on a clean line."""
        if self._redraws:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()

    def _show(self, doing: str) -> None:
        text = f"{self._label}: {self._done} of {self._total}{self._left()}"
        if doing:
            text += f", {doing}"
        if self._redraws:
            filled = min(_BAR, _BAR * self._done // max(1, self._total))
            self._stream.write(f"\r\x1b[2K[{'#' * filled}{'.' * (_BAR - filled)}] {text}")
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def _left(self) -> str:
        from planner.quantities import show_duration

        if not 0 < self._done < self._total:
            return ""
        elapsed = time.monotonic() - self._started
        return f", about {show_duration(elapsed / self._done * (self._total - self._done))} left"


def told_tracing(model: str | None) -> None:
    """Say on standard error that a module is traced first, which takes longer than a plan."""
    from planner.models.sources import is_module

    if model is not None and is_module(model):
        note(f"tracing {model} in a process of its own: some seconds")


@contextmanager
def progress(label: str, total: int) -> Iterator[Progress]:
    """`with progress("measuring", 40) as bar: bar.advance(doing="gemm 4096")`."""
    shown = Progress(label, total, sys.stderr)
    try:
        yield shown
    finally:
        shown.close()
