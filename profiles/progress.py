"""Progress on standard error: one line redrawn on a terminal, a line now and then elsewhere, or
one JSON object a kernel for a program that shows it."""

from __future__ import annotations

import json
import time
from typing import TextIO

_BAR = 24  # characters
_PAUSE = 10.0  # s between two lines where nothing can be redrawn


class Progress:
    """Shows how far a measurement is and how long it may still take."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._redraws = stream.isatty()
        self._shown = time.monotonic()

    def __call__(self, done: int, planned: int, doing: str, left_s: float) -> None:
        """`done` of `planned` are finished, `doing` is under way."""
        text = f"{done} of {planned}, {left_s:.0f} s left at most, {doing}"
        if self._redraws:
            filled = _BAR * done // max(1, planned)
            bar = "#" * filled + "." * (_BAR - filled)
            self._stream.write(f"\r\x1b[2K[{bar}] {text}"[:140])
        elif time.monotonic() - self._shown >= _PAUSE:
            self._shown = time.monotonic()
            self._stream.write(f"profile: {text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave a clean line."""
        if self._redraws:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()


class ProgressObjects:
    """Says after every kernel how far a measurement is, as a line of JSON.

    Whoever started the measurement reads along; when it has gone, writing fails and the measurement
    ends, so that nothing runs on for nobody. What was measured is on disk by then.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, done: int, planned: int, doing: str, left_s: float) -> None:
        """`done` of `planned` are finished, `doing` is under way."""
        found = {"done": done, "planned": planned, "doing": doing, "left_s": round(left_s, 1)}
        self._stream.write(json.dumps(found) + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Nothing is left to tidy."""
