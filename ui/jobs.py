"""Slow work in the background: one thread a job, shared by all sessions, free of Streamlit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

Work = Callable[[Callable[..., None]], Any]
MOST_KEPT = 64  # ended jobs whose answers are remembered
SLOT_WAIT = 0.1  # s between two looks whether a waiting job may start, or is not wanted any more


class NotWantedError(KeyboardInterrupt):
    """Raised inside the work, where it reports its progress, once nobody wants the answer.

    An interrupt, as Ctrl-C is one: work that catches it gives what it has so far.
    """


class Job:
    """Work that runs until it is done, failed or cancelled, whether or not somebody watches.

    The work is given a function to report its progress with: what is done, of how much, and
    anything worth showing meanwhile. With `slots` it waits until one is free.

    >>> job = Job(lambda progress: progress(1, 2) or 6 * 7)
    >>> job.join(), job.state, job.result, job.progress
    (None, 'done', 42, (1, 2))
    """

    def __init__(self, work: Work, slots: threading.Semaphore | None = None) -> None:
        self.state = "running"  # running | done | failed | cancelled
        self.result: Any = None
        self.error: Exception | None = None
        self.progress: tuple[int, int] | None = None  # done, of
        self.news: Any = None  # what the work reported last beside its progress
        self.started = time.monotonic()  # s
        self.waiting = slots is not None
        self._slots, self._unwanted = slots, threading.Event()
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.started

    @property
    def stopping(self) -> bool:
        """Whether it was cancelled and has not ended yet."""
        return self._unwanted.is_set() and self.state == "running"

    def join(self, timeout: float | None = None) -> None:
        """Wait until the work has ended, at most `timeout` seconds."""
        self._thread.join(timeout)

    def cancel(self) -> None:
        """End the work where it next reports its progress; work that has ended stays as it is."""
        self._unwanted.set()

    def _report(self, done: int, total: int, news: Any = None) -> None:
        self.progress = (done, total)
        if news is not None:
            self.news = news
        if self._unwanted.is_set():
            raise NotWantedError

    def _run(self, work: Work) -> None:
        try:
            self.result = self._worked(work)
        except NotWantedError:
            self.state = "cancelled"
        except Exception as error:  # a thread has nobody else to tell
            self.error = error
            self.state = "failed"
        else:
            self.state = "done"

    def _worked(self, work: Work) -> Any:
        if self._slots is None:
            return work(self._report)
        while not self._slots.acquire(timeout=SLOT_WAIT):
            if self._unwanted.is_set():
                raise NotWantedError
        try:
            self.waiting = False
            return work(self._report)
        finally:
            self._slots.release()


class Jobs:
    """The jobs of the application by name; of those that ended, the newest `most` are kept.

    At most `at_once` work at the same time, the others wait; None sets no bound.
    """

    def __init__(self, most: int = MOST_KEPT, at_once: int | None = None) -> None:
        self._jobs: dict[str, Job] = {}
        self._most = most
        self._lock = threading.Lock()
        self._slots = None if at_once is None else threading.Semaphore(at_once)

    def get(self, name: str, work: Work) -> Job:
        """The job of that name, started now if it never was."""
        with self._lock:
            if name not in self._jobs:
                self._jobs[name] = Job(work, self._slots)
                self._drop_old()
            return self._jobs[name]

    def find(self, name: str) -> Job | None:
        """The job of that name, None where there is none."""
        with self._lock:
            return self._jobs.get(name)

    def _drop_old(self) -> None:
        ended = [name for name, job in self._jobs.items() if job.state != "running"]
        for name in ended[: max(len(ended) - self._most, 0)]:
            del self._jobs[name]

    def forget(self, name: str) -> None:
        """Let the next `get` start anew; work that is running is left to end by itself."""
        with self._lock:
            self._jobs.pop(name, None)
