"""Slow work in the background: one thread a job, shared by all sessions, free of Streamlit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any


class Job:
    """Work that runs until it is done or failed, whether or not somebody watches.

    >>> job = Job(lambda: 6 * 7)
    >>> job.join(), job.state, job.result
    (None, 'done', 42)
    """

    def __init__(self, work: Callable[[], Any]) -> None:
        self.state = "running"  # running | done | failed
        self.result: Any = None
        self.error: Exception | None = None
        self.started = time.monotonic()  # s
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.started

    def join(self, timeout: float | None = None) -> None:
        """Wait until the work has ended, at most `timeout` seconds."""
        self._thread.join(timeout)

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            self.result = work()
        except Exception as error:  # a thread has nobody else to tell
            self.error = error
            self.state = "failed"
        else:
            self.state = "done"


class Jobs:
    """The jobs of the application by name."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def get(self, name: str, work: Callable[[], Any]) -> Job:
        """The job of that name, started now if it never was."""
        with self._lock:
            if name not in self._jobs:
                self._jobs[name] = Job(work)
            return self._jobs[name]

    def forget(self, name: str) -> None:
        """Let the next `get` start anew; work that is running is left to end by itself."""
        with self._lock:
            self._jobs.pop(name, None)
