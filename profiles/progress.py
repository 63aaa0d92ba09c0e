"""Progress on standard error: one line redrawn on a terminal, a line now and then elsewhere."""

from __future__ import annotations

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
