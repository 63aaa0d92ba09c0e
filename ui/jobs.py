"""Slow work in the background: one thread a job, shared by all sessions, free of Streamlit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

Work = Callable[[Callable[[int, int], None]], Any]
MOST_KEPT = 64  # ended jobs whose answers are remembered


class NotWantedError(Exception):
    """Raised inside the work, where it reports its progress, once nobody wants the answer."""


class Job:
    """Work that runs until it is done, failed or cancelled, whether or not somebody watches.

    The work is given a function to report its progress with: what is done, of how much.

    >>> job = Job(lambda progress: progress(1, 2) or 6 * 7)
    >>> job.join(), job.state, job.result, job.progress
    (None, 'done', 42, (1, 2))
    """

    def __init__(self, work: Work) -> None:
        self.state = "running"  # running | done | failed | cancelled
        self.result: Any = None
        self.error: Exception | None = None
        self.progress: tuple[int, int] | None = None  # done, of
        self.started = time.monotonic()  # s
        self._unwanted = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.started

    def join(self, timeout: float | None = None) -> None:
        """Wait until the work has ended, at most `timeout` seconds."""
        self._thread.join(timeout)

    def cancel(self) -> None:
        """End the work where it next reports its progress; work that has ended stays as it is."""
        self._unwanted.set()

    def _report(self, done: int, total: int) -> None:
        if self._unwanted.is_set():
            raise NotWantedError
        self.progress = (done, total)

    def _run(self, work: Work) -> None:
        try:
            self.result = work(self._report)
        except NotWantedError:
            self.state = "cancelled"
        except Exception as error:  # a thread has nobody else to tell
            self.error = error
            self.state = "failed"
        else:
            self.state = "done"


class Jobs:
    """The jobs of the application by name; of those that ended, the newest `most` are kept."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._jobs: dict[str, Job] = {}
        self._most = most
        self._lock = threading.Lock()

    def get(self, name: str, work: Work) -> Job:
        """The job of that name, started now if it never was."""
        with self._lock:
            if name not in self._jobs:
                self._jobs[name] = Job(work)
                self._drop_old()
            return self._jobs[name]

    def _drop_old(self) -> None:
        ended = [name for name, job in self._jobs.items() if job.state != "running"]
        for name in ended[: max(len(ended) - self._most, 0)]:
            del self._jobs[name]

    def forget(self, name: str) -> None:
        """Let the next `get` start anew; work that is running is left to end by itself."""
        with self._lock:
            self._jobs.pop(name, None)
