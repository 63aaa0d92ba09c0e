"""A clock that is told what to show, so that timing itself can be tested."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from profiles.timing import Region


class ToldClock:
    """Seconds of successive calls come from an iterator; the last one repeats."""

    def __init__(self, seconds: Iterator[float], *, host_share: float | None = None) -> None:
        self.asynchronous = host_share is not None
        self.flushes = 0
        self.calls = 0
        self._seconds = seconds
        self._last = 0.0
        self._share = host_share if host_share is not None else 1.0

    def region(self, call: Callable[[], Any], repeats: int) -> Region:
        total = 0.0
        for _ in range(repeats):
            call()
            self.calls += 1
            self._last = next(self._seconds, self._last)
            total += self._last
        return Region(seconds=total, host_seconds=total * self._share)

    def flush(self) -> None:
        self.flushes += 1
